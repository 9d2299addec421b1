import Echo from 'laravel-echo'
import module, { type Channel, type Options } from 'pusher-js'
import { expect } from 'vitest'

/** The package is of the older kind, whose only export is the class. */
const Pusher = module as unknown as typeof module.default

const SLOW = { timeout: 60_000, interval: 10 }

interface ReceivedEvent {
  channel: string
  event: string
  data: Record<string, unknown>
}

interface PusherOptions {
  key?: string
  token?: string
  /** Instead of a token, what a browser sends. */
  headers?: Record<string, string>
  path?: string
  /** Milliseconds of silence until it checks the connection. */
  activityTimeout?: number
}

/** An unmodified pusher-js in this process, as a front end sets it up from the `transfer` block. */
export function openPusher(url: string, pusherOptions: PusherOptions = {}) {
  const { key = 'svc', token, headers, path = '/ws/transfer', activityTimeout } = pusherOptions
  const { hostname, port, protocol } = new URL(url)
  const isSecure = protocol === 'https:'
  const options: Options = {
    cluster: '',
    wsHost: hostname,
    wsPort: Number(port),
    wssPort: Number(port),
    wsPath: path,
    forceTLS: isSecure,
    enabledTransports: isSecure ? ['ws', 'wss'] : ['ws'],
    ...(activityTimeout && { activityTimeout, pongTimeout: activityTimeout }),
    channelAuthorization: {
      transport: 'ajax',
      endpoint: token ? `${url}/api/broadcasting/auth` : `${url}/broadcasting/auth`,
      headers: token ? { authorization: `Bearer ${token}` } : headers,
    },
  }
  const pusher = new Pusher(key, options)
  const events: ReceivedEvent[] = []
  const errors: unknown[] = []
  pusher.connection.bind('error', (error: unknown) => errors.push(error))

  return {
    pusher,
    events,
    errors,
    dataOf: (event: string) => events.filter((it) => it.event === event).map(({ data }) => data),
    state: () => pusher.connection.state,
    /** Resolves with what the service says of the subscription, or rejects with its refusal. */
    subscribe(name: string): Promise<{ channel: Channel; data: Record<string, unknown> }> {
      const channel = pusher.subscribe(name)
      channel.bind_global((event: string, data: Record<string, unknown>) => events.push({ channel: name, event, data }))
      return new Promise((done, refuse) => {
        channel.bind('pusher:subscription_succeeded', (data: Record<string, unknown>) => done({ channel, data }))
        channel.bind('pusher:subscription_error', refuse)
      })
    },
    /** Waits for so many events of a name. */
    async until(event: string, count: number) {
      await expect.poll(() => events.filter((it) => it.event === event).length, SLOW).toBeGreaterThanOrEqual(count)
    },
    async untilState(state: string) {
      await expect.poll(() => pusher.connection.state, SLOW).toBe(state)
    },
    [Symbol.dispose]: () => pusher.disconnect(),
  }
}

/** The connection details of the `transfer` block. */
export interface Websocket {
  key: string
  host: string
  port: number
  forceTls: boolean
  path: string
}

/** laravel-echo as front ends set it up: everything that is not here is its default. */
export function openEcho(url: string, websocket: Websocket, token: string) {
  const echo = new Echo<'reverb'>({
    broadcaster: 'reverb',
    Pusher: module,
    key: websocket.key,
    wsHost: websocket.host,
    wsPath: websocket.path,
    wsPort: websocket.port,
    wssPort: websocket.port,
    forceTLS: websocket.forceTls,
    enabledTransports: ['ws', 'wss'],
    // In a browser the page says where it is and who is signed in.
    authEndpoint: `${url}/api/broadcasting/auth`,
    bearerToken: token,
  })
  return { echo, [Symbol.dispose]: () => echo.disconnect() }
}
