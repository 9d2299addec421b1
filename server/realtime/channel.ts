import type { LoggedChange } from '../../entities/events/change-log.sql.ts'
import {
  buildPackets,
  writeEphemeralEvent,
  writePosition,
  writeSubscriptionError,
} from '../../facades/realtime/frames.ts'
import type {
  EphemeralEvent,
  Position,
  StreamFollower,
  StreamSubscription,
} from '../../routers/ports/change-streams.ts'
import type { Connection, Subscription } from './connection.ts'

/** A channel of this process: sends the changes of its stream to its subscribers. */
export class Channel implements StreamFollower {
  readonly name: string
  readonly subscriptions = new Set<Subscription>()
  position: Position = { epoch: '', seq: 0 }
  /** Time since which no member was removed; memberships that were read before it must be checked again. */
  checkedSince = 0
  /** Number of connections that are being subscribed. */
  entering = 0
  streamSubscription: StreamSubscription | undefined
  /** True for presence channels, which send members but no changes; clients also subscribe to the private channel for these. */
  readonly isPresence: boolean
  /** Largest delay of a change until it arrived here, in milliseconds. */
  lagMs = 0
  readonly #isRoom: boolean
  readonly #onRemoved: (channel: Channel) => void

  constructor(name: string, stream: string, onRemoved: (channel: Channel) => void) {
    this.name = name
    this.isPresence = name.startsWith('presence-')
    this.#onRemoved = onRemoved
    this.#isRoom = stream.startsWith('room:')
  }

  start(streamSubscription: StreamSubscription): void {
    this.streamSubscription = streamSubscription
    this.position = streamSubscription.position
    this.checkedSince = performance.now()
  }

  onChange(change: LoggedChange): void {
    this.position = { epoch: change.epoch, seq: change.seq }
    // A removed member gets neither this change nor later ones.
    if (this.#isRoom && change.kind === 'room-members.deleted') this.#endMembership(Number(change.subject))
    this.lagMs = Math.max(this.lagMs, Date.now() - Date.parse(change.at))
    if (!this.isPresence && this.subscriptions.size > 0) this.#sendChange(change)
    if (this.#isRoom && change.kind === 'rooms.deleted') this.#endMatching(() => true)
  }

  onPositionLost(position: Position): void {
    this.position = position
    this.broadcast(writePosition(this.name, position))
    // The lost changes may include removals of members, so everybody has to subscribe again.
    if (this.#isRoom) this.#endMatching(() => true)
  }

  onEphemeral(event: EphemeralEvent): void {
    if (!this.isPresence && this.subscriptions.size > 0) this.relay(writeEphemeralEvent(this.name, event))
  }

  relay(frame: string, from?: Connection): void {
    const bytes = Buffer.from(frame)
    for (const { connection } of this.subscriptions) if (connection !== from) connection.sendIfKeepingUp(bytes)
  }

  end(subscription: Subscription, status: number, reason: string): void {
    subscription.connection.send(writeSubscriptionError(this.name, status, reason))
    this.remove(subscription)
  }

  remove(subscription: Subscription): void {
    subscription.connection.subscriptions.delete(this.name)
    if (this.subscriptions.delete(subscription)) this.#onRemoved(this)
  }

  /** Sends a frame to all subscribers, except one. */
  broadcast(frame: string, except?: Connection): void {
    const bytes = Buffer.from(frame)
    for (const { connection } of this.subscriptions) if (connection !== except) connection.send(bytes)
  }

  /** Sends a change; who reads slowly gets it without the changed row. */
  #sendChange(change: LoggedChange): void {
    const write = (of: LoggedChange) => buildPackets(this.name, of).map((packet) => Buffer.from(packet))
    const whole = write(change)
    const brief = change.record ? write({ ...change, record: undefined }) : whole
    for (const { connection } of this.subscriptions)
      for (const bytes of connection.isKeepingUp ? whole : brief) connection.send(bytes)
  }

  #endMembership(member: number): void {
    this.checkedSince = performance.now()
    this.#endMatching((subscription) => subscription.member === member)
  }

  #endMatching(shouldEnd: (subscription: Subscription) => boolean): void {
    for (const subscription of this.subscriptions)
      if (shouldEnd(subscription)) this.end(subscription, 403, 'You are no member any more.')
  }
}
