import type { ChangeStreams } from '../../routers/ports/change-streams.ts'
import { Channel } from './channel.ts'
import type { Subscription } from './connection.ts'

/** The channels to which somebody of this process is subscribed. */
export class Channels {
  readonly #streams: ChangeStreams
  readonly #channels = new Map<string, { channel: Channel; begun: Promise<void> }>()

  constructor(streams: ChangeStreams) {
    this.#streams = streams
  }

  get size(): number {
    return this.#channels.size
  }

  get(name: string): Channel | undefined {
    return this.#channels.get(name)?.channel
  }

  /** The channel, which follows its stream from now on; whoever enters leaves again. */
  async enter(name: string, stream: string): Promise<Channel> {
    const known = this.#channels.get(name) ?? this.#open(name, stream)
    const { channel, begun } = known
    channel.entering += 1
    await begun.catch((error: unknown) => {
      this.leave(channel)
      throw error
    })
    return channel
  }

  /** Comes after `enter`, also where that led to a subscription. */
  leave(channel: Channel): void {
    channel.entering -= 1
    this.#closeIfEmpty(channel)
  }

  remove(subscription: Subscription): void {
    subscription.channel.subscriptions.delete(subscription)
    subscription.connection.subscriptions.delete(subscription.channel.name)
    const channel = this.get(subscription.channel.name)
    if (channel) this.#closeIfEmpty(channel)
  }

  #closeIfEmpty(channel: Channel): void {
    if (channel.entering > 0 || channel.subscriptions.size > 0) return
    if (this.get(channel.name) === channel) this.#channels.delete(channel.name)
    channel.following?.stop()
  }

  #open(name: string, stream: string) {
    const channel = new Channel(name, stream)
    const begun = this.#streams.follow(stream, channel).then((following) => channel.begin(following))
    const opened = { channel, begun }
    this.#channels.set(name, opened)
    return opened
  }
}
