import type { ChangeStreams } from '../../routers/ports/change-streams.ts'
import { Channel } from './channel.ts'
import type { Presence } from './presence.ts'

/** The channels to which somebody of this process is subscribed. */
export class Channels {
  readonly #streams: ChangeStreams
  readonly #presence: Presence
  readonly #channels = new Map<string, { channel: Channel; begun: Promise<void> }>()

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

  /** The channel, which follows its stream from now on; whoever enters leaves again. */
  async enter(name: string, stream: string): Promise<Channel> {
    const known = this.#channels.get(name) ?? this.#open(name, stream)
    const { channel, begun } = known
    channel.entering += 1
    await Promise.all([begun, this.#presence.prepare(channel)]).catch((error: unknown) => {
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

  /** How long the slowest change since the last call took from the log to this process, in milliseconds. */
  takeLag(): number {
    let lagMs = 0
    for (const { channel } of this.#channels.values()) {
      lagMs = Math.max(lagMs, channel.lagMs)
      channel.lagMs = 0
    }
    return lagMs
  }

  #closeIfEmpty(channel: Channel): void {
    this.#presence.left(channel)
    if (channel.entering > 0 || channel.subscriptions.size > 0) return
    if (this.get(channel.name) === channel) this.#channels.delete(channel.name)
    channel.following?.stop()
  }

  #open(name: string, stream: string) {
    const channel = new Channel(name, stream, (left) => this.#closeIfEmpty(left))
    const begun = this.#streams.follow(stream, channel).then((following) => channel.begin(following))
    const opened = { channel, begun }
    this.#channels.set(name, opened)
    return opened
  }
}
