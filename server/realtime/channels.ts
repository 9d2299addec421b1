import type { ChangeStreams } from '../../routers/ports/change-streams.ts'
import { Channel } from './channel.ts'
import type { Presence } from './presence.ts'

/** The channels with subscribers in this process. */
export class Channels {
  readonly #streams: ChangeStreams
  readonly #presence: Presence
  readonly #channels = new Map<string, { channel: Channel; started: Promise<void> }>()

  constructor(streams: ChangeStreams, presence: Presence) {
    this.#streams = streams
    this.#presence = presence
  }

  get size(): number {
    return this.#channels.size
  }

  get(name: string): Channel | undefined {
    return this.#channels.get(name)?.channel
  }

  /** Returns the channel, which follows its stream from now on. Each call needs a call of `leave`. */
  async enter(name: string, stream: string): Promise<Channel> {
    const { channel, started } = this.#channels.get(name) ?? this.#open(name, stream)
    channel.entering += 1
    await Promise.all([started, this.#presence.prepare(channel)]).catch((error: unknown) => {
      this.leave(channel)
      throw error
    })
    return channel
  }

  /** Reverses `enter`, even if it led to a subscription. */
  leave(channel: Channel): void {
    channel.entering -= 1
    this.#closeIfEmpty(channel)
  }

  /** Returns the largest delay of a change since the last call, in milliseconds, and resets it. */
  readLag(): number {
    let lagMs = 0
    for (const { channel } of this.#channels.values()) {
      lagMs = Math.max(lagMs, channel.lagMs)
      channel.lagMs = 0
    }
    return lagMs
  }

  #closeIfEmpty(channel: Channel): void {
    this.#presence.leave(channel)
    if (channel.entering > 0 || channel.subscriptions.size > 0) return
    if (this.get(channel.name) === channel) this.#channels.delete(channel.name)
    channel.streamSubscription?.stop()
  }

  #open(name: string, stream: string) {
    const channel = new Channel(name, stream, (emptied) => this.#closeIfEmpty(emptied))
    const started = this.#streams.follow(stream, channel).then((subscription) => channel.start(subscription))
    const entry = { channel, started }
    this.#channels.set(name, entry)
    return entry
  }
}
