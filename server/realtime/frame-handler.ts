import { codes } from '../../facades/realtime/close-codes.ts'
import { pong, relayed } from '../../facades/realtime/frames.ts'
import { type ClientFrame, readFrame } from '../../facades/realtime/read-frame.ts'
import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import { readChannel } from '../../routers/rooms/realtime/channels.ts'
import type { Channels } from './channels.ts'
import type { Connection } from './connection.ts'
import type { Subscriber } from './subscribe.ts'

interface Relayed {
  channel: string
  frame: string
}

const TOPIC = 'client event'

interface FrameHandlerOptions {
  channels: Channels
  subscriber: Subscriber
  bus: ChangeBus
}

type Handlers = {
  [T in ClientFrame['type']]?: (connection: Connection, frame: Extract<ClientFrame, { type: T }>) => void
}

/** Carries out what clients send. */
export class FrameHandler {
  readonly #options: FrameHandlerOptions
  readonly #handlers: Handlers

  constructor(options: FrameHandlerOptions) {
    this.#options = options
    this.#handlers = {
      ping: (connection) => connection.send(pong),
      refused: (connection, { refusal }) => connection.fail(refusal.code, refusal.message),
      subscribe: (connection, frame) => void options.subscriber.subscribe(connection, frame),
      unsubscribe: (connection, { channel }) => this.#unsubscribe(connection, channel),
      'client event': (connection, frame) => this.#relay(connection, frame),
    }
    options.bus.subscribe({
      changed() {},
      interrupted() {},
      told(topic, content) {
        const { channel, frame } = content as Relayed
        if (topic === TOPIC) options.channels.get(channel)?.relay(frame)
      },
    })
  }

  /** Whether the connection may go on: each sign of life counts, as each ping is answered and so takes memory. */
  hear(connection: Connection): boolean {
    if (!connection.isOpen) return false
    if (connection.heard()) return true
    connection.close(codes.unauthorized, 'Too many frames.')
    return false
  }

  take(connection: Connection, bytes: string, isBinary: boolean) {
    if (!this.hear(connection)) return
    if (isBinary) return connection.fail(codes.badFrame, 'Frames are text.')
    const frame = readFrame(bytes)
    const handle = this.#handlers[frame.type] as ((connection: Connection, frame: ClientFrame) => void) | undefined
    handle?.(connection, frame)
  }

  #unsubscribe(connection: Connection, name: string): void {
    const subscription = connection.subscriptions.get(name)
    connection.subscriptions.delete(name)
    subscription?.channel.drop(subscription)
  }

  #relay(connection: Connection, event: Extract<ClientFrame, { type: 'client event' }>) {
    const subscription = connection.subscriptions.get(event.channel)
    if (!subscription) return connection.fail(codes.eventRejected, 'You are not subscribed to this channel.')
    if (readChannel(event.channel)?.of === 'everybody')
      return connection.fail(codes.eventRejected, 'Nobody tells everybody something.')
    if (!connection.mayTellOthers()) return connection.fail(codes.eventRejected, 'Too many client events.')
    const frame = relayed(event, String(subscription.person))
    subscription.channel.relay(frame, connection)
    this.#options.bus.tell(TOPIC, { channel: event.channel, frame } satisfies Relayed)
  }
}
