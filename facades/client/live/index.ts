import { subscribeToEvents } from './event-source.ts'
import { readChanges, type Service } from './service.ts'
import {
  type Change,
  retryDelay as defaultRetryDelay,
  type Listener,
  type PassingEvent,
  type RetryDelay,
  StreamEnded,
  type Transport,
} from './transport.ts'

export { type FollowOptions, follow, type LiveStream } from './follow.ts'
export { type Changes, type ChangesSince, readChanges, type Service } from './service.ts'
export type { Position } from './transport.ts'
export {
  type Change,
  type Listener,
  type PassingEvent,
  pause,
  type RetryDelay,
  retryDelay,
  StreamEnded,
  type Transport,
} from './transport.ts'

/** Returns the stream of a room for `follow`; its transport can be replaced. */
export const roomStream = (service: Service, id: string, options: { retryDelay?: RetryDelay } = {}) => ({
  transport: overEvents(service, 'rooms.changes', { input: { id }, ...options }),
  changesSince: readChanges(service, 'rooms.changesSince', { id }),
})

/** Returns the stream of the caller's rooms, invitations and private conversations for `follow`. */
export const ownStream = (service: Service, options: { retryDelay?: RetryDelay } = {}) => ({
  transport: overEvents(service, 'users.changes', options),
  changesSince: readChanges(service, 'users.changesSince'),
})

interface OverEventsOptions {
  input?: object
  retryDelay?: RetryDelay
}

/** Creates a transport over server-sent events of `rooms.changes` or `users.changes`. */
export function overEvents(service: Service, path: string, { input = {}, ...rest }: OverEventsOptions = {}): Transport {
  return {
    listen(listener) {
      const stopped = new AbortController()
      void forwardEvents(listener, subscribeToEvents(service, path, { input, ...rest, signal: stopped.signal }))
      return () => stopped.abort()
    },
  }
}

async function forwardEvents(listener: Listener, parts: ReturnType<typeof subscribeToEvents>): Promise<void> {
  try {
    for await (const { id, data } of parts) {
      if (data.type === 'passing') listener.passed?.(data)
      else if (data.type === 'position') listener.subscribed(id)
      else listener.changed(id, data)
    }
  } catch (error) {
    listener.ended(error instanceof StreamEnded ? error : new StreamEnded('internal'))
  }
}

/** The used part of a pusher-js channel. */
export interface PusherChannel {
  // biome-ignore lint/suspicious/noExplicitAny: so does pusher-js declare it.
  bind(event: string, callback: (data: any) => void): unknown
  // biome-ignore lint/suspicious/noExplicitAny: so does pusher-js declare it.
  unbind(event: string, callback: (data: any) => void): unknown
}

/** The used part of pusher-js. It reconnects by itself, except after a refusal by the server: then call its `connect`. */
export interface PusherClient {
  subscribe(channel: string): PusherChannel
  unsubscribe(channel: string): void
}

interface PusherPosition {
  epoch: string
  seq: number
}

const toPosition = ({ epoch, seq }: PusherPosition) => `${epoch}:${seq}`

/** Creates a transport over a pusher-js channel, such as `private-Rooms.{slug}` or `private-User.{id}`. */
export function overPusher(pusher: PusherClient, name: string, { retryDelay = defaultRetryDelay } = {}): Transport {
  return {
    listen(listener) {
      let attempt = 0
      let timer: ReturnType<typeof setTimeout> | undefined
      const handlers = {
        'pusher:subscription_succeeded': (data: PusherPosition) => {
          attempt = 0
          listener.subscribed(toPosition(data))
        },
        change: ({ epoch, ...change }: Change & { epoch: string }) =>
          listener.changed(toPosition({ epoch, seq: change.seq }), change),
        passing: (event: PassingEvent) => listener.passed?.(event),
        position: (data: PusherPosition) => listener.subscribed(toPosition(data)),
        'pusher:subscription_error': ({ status = 0 }: { status?: number }) => {
          clearTimeout(timer)
          if ([401, 403, 404].includes(status)) return listener.ended(new StreamEnded(readCode(status)))
          // The library does not retry by itself.
          attempt += 1
          timer = setTimeout(() => pusher.subscribe(name), retryDelay(attempt))
        },
      }
      const channel = pusher.subscribe(name)
      for (const [event, handle] of Object.entries(handlers)) channel.bind(event, handle)
      return () => {
        clearTimeout(timer)
        for (const [event, handle] of Object.entries(handlers)) channel.unbind(event, handle)
        pusher.unsubscribe(name)
      }
    },
  }
}

const readCode = (status: number) => (status === 401 ? 'signed_out' : 'not_found')
