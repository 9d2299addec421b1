import type { Sql } from '../../entities/sql/statement.ts'
import { type ClientFrame, codes, PONG, readFrame, writeClientEvent } from '../../facades/realtime/frames.ts'
import type { HookRegistry } from '../../routers/core/hooks.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import { readChannel } from '../../routers/rooms/channels.ts'
import type { Channels } from './channels.ts'
import type { Connection, Subscription } from './connection.ts'
import type { Subscriber } from './subscriber.ts'

interface RelayedEvent {
  channel: string
  frame: string
}

const TOPIC = 'client event'

interface FrameHandlerOptions {
  channels: Channels
  subscriber: Subscriber
  bus: ChangeBus
  /** Hooks that throw if a person may not act now. */
  hooks: Pick<HookRegistry, 'emitSerial'>
  sql: Sql
}

type Handlers = {
  [T in ClientFrame['type']]?: (connection: Connection, frame: Extract<ClientFrame, { type: T }>) => void
}

/** Handles the frames that clients send. */
export class FrameHandler {
  readonly #options: FrameHandlerOptions
  readonly #handlers: Handlers
  readonly #lastRelays = new WeakMap<Connection, Promise<void>>()

  constructor(options: FrameHandlerOptions) {
    this.#options = options
    this.#handlers = {
      ping: (connection) => connection.send(PONG),
      refused: (connection, { refusal }) => connection.fail(refusal.code, refusal.message),
      subscribe: (connection, frame) => void options.subscriber.subscribe(connection, frame),
      unsubscribe: (connection, { channel }) => this.#unsubscribe(connection, channel),
      'client event': (connection, frame) => this.#relayInTurn(connection, frame),
    }
    options.bus.subscribe({
      onChanges() {},
      onInterruption() {},
      onMessage(topic, content) {
        const { channel, frame } = content as RelayedEvent
        if (topic === TOPIC) options.channels.get(channel)?.relay(frame)
      },
    })
  }

  /** Records activity, pings included; closes the connection and returns false if it sends too many frames. */
  acceptActivity(connection: Connection): boolean {
    if (!connection.isOpen) return false
    if (connection.recordActivity()) return true
    connection.close(codes.unauthorized, 'Too many frames.')
    return false
  }

  handle(connection: Connection, bytes: string, isBinary: boolean) {
    if (!this.acceptActivity(connection)) return
    if (isBinary) return connection.fail(codes.badFrame, 'Frames are text.')
    const frame = readFrame(bytes)
    const handle = this.#handlers[frame.type] as ((connection: Connection, frame: ClientFrame) => void) | undefined
    handle?.(connection, frame)
  }

  #unsubscribe(connection: Connection, name: string): void {
    const subscription = connection.subscriptions.get(name)
    connection.subscriptions.delete(name)
    subscription?.channel.remove(subscription)
  }

  /** Relays the events of a connection in order, one after the other, because the permission check may query the database. */
  #relayInTurn(connection: Connection, event: ClientEvent): void {
    const previous = this.#lastRelays.get(connection) ?? Promise.resolve()
    this.#lastRelays.set(
      connection,
      previous.then(() => this.#relay(connection, event)),
    )
  }

  async #relay(connection: Connection, event: ClientEvent): Promise<void> {
    const subscription = connection.subscriptions.get(event.channel)
    const reason = findRefusal(connection, subscription, event) ?? (await this.#findObjection(subscription?.person))
    if (reason !== undefined) return connection.fail(codes.eventRejected, reason)
    // The subscription may have ended meanwhile.
    if (!subscription || connection.subscriptions.get(event.channel) !== subscription) return
    const frame = writeClientEvent(event, String(subscription.person))
    subscription.channel.relay(frame, connection)
    this.#options.bus.broadcast(TOPIC, { channel: event.channel, frame } satisfies RelayedEvent)
  }

  /** Returns the reason why a person may not act now, such as a policy that they have to accept; undefined if they may. */
  async #findObjection(userId = 0): Promise<string | undefined> {
    const { hooks, sql } = this.#options
    return hooks.emitSerial('user-acting', { userId, sql }).then(
      () => undefined,
      (error: unknown) => (error instanceof Problem ? error.message : 'The service is not available.'),
    )
  }
}

type ClientEvent = Extract<ClientFrame, { type: 'client event' }>

/** Returns the reason why an event is refused, as far as the connection itself knows; undefined if there is none. */
function findRefusal(connection: Connection, subscription: Subscription | undefined, { channel }: ClientEvent) {
  if (!subscription) return 'You are not subscribed to this channel.'
  if (readChannel(channel)?.kind === 'everybody') return 'Only the service sends events to this channel.'
  if (!subscription.canPublish) return "The access token lacks the ability 'write'."
  return connection.takeClientEventToken() ? undefined : 'Too many client events.'
}
