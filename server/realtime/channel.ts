import type { LoggedChange } from '../../entities/events/change-log.sql.ts'
import { buildPackets, moved, passingPacket, unsubscribed } from '../../facades/realtime/frames.ts'
import type {
  EphemeralEvent,
  Position,
  StreamFollower,
  StreamSubscription,
} from '../../routers/ports/change-streams.ts'
import type { Connection, Subscription } from './connection.ts'

/** A channel of this process: hands on what its stream tells to whoever is subscribed. */
export class Channel implements StreamFollower {
  readonly name: string
  readonly subscriptions = new Set<Subscription>()
  position: Position = { epoch: '', seq: 0 }
  /** Whoever was known to be a member before this moment may be none any more. */
  checkedSince = 0
  /** Those who are on their way in. */
  entering = 0
  following: StreamSubscription | undefined
  /** Tells who is in it, and nothing of changes: whoever wants those subscribes to the private channel, too. */
  readonly isPresence: boolean
  /** How long the last change took to get here, in milliseconds. */
  lagMs = 0
  readonly #isRoom: boolean
  readonly #onLeft: (channel: Channel) => void

  constructor(name: string, stream: string, onLeft: (channel: Channel) => void) {
    this.name = name
    this.isPresence = name.startsWith('presence-')
    this.#onLeft = onLeft
    this.#isRoom = stream.startsWith('room:')
  }

  begin(following: StreamSubscription): void {
    this.following = following
    this.position = following.position
    this.checkedSince = performance.now()
  }

  onChange(change: LoggedChange): void {
    this.position = { epoch: change.epoch, seq: change.seq }
    // Who is removed at this place of the log gets nothing from here on.
    if (this.#isRoom && change.kind === 'room-members.deleted') this.#endMembership(Number(change.subject))
    this.lagMs = Math.max(this.lagMs, Date.now() - Date.parse(change.at))
    if (!this.isPresence && this.subscriptions.size > 0)
      for (const packet of buildPackets(this.name, change)) this.tell(packet)
    if (this.#isRoom && change.kind === 'rooms.deleted') this.#endWhere(() => true)
  }

  onPositionLost(position: Position): void {
    this.position = position
    this.tell(moved(this.name, position))
    // Removals may be among what was lost: everybody subscribes anew.
    if (this.#isRoom) this.#endWhere(() => true)
  }

  onEphemeral(event: EphemeralEvent): void {
    if (!this.isPresence && this.subscriptions.size > 0) this.relay(passingPacket(this.name, event))
  }

  relay(frame: string, from?: Connection): void {
    const bytes = Buffer.from(frame)
    for (const { connection } of this.subscriptions) if (connection !== from) connection.sendPassing(bytes)
  }

  end(subscription: Subscription, status: number, reason: string): void {
    subscription.connection.send(unsubscribed(this.name, status, reason))
    this.drop(subscription)
  }

  drop(subscription: Subscription): void {
    subscription.connection.subscriptions.delete(this.name)
    if (this.subscriptions.delete(subscription)) this.#onLeft(this)
  }

  /** Tells all, or all but one. */
  tell(frame: string, except?: Connection): void {
    const bytes = Buffer.from(frame)
    for (const { connection } of this.subscriptions) if (connection !== except) connection.send(bytes)
  }

  #endMembership(member: number): void {
    this.checkedSince = performance.now()
    this.#endWhere((subscription) => subscription.member === member)
  }

  #endWhere(isOver: (subscription: Subscription) => boolean): void {
    for (const subscription of this.subscriptions)
      if (isOver(subscription)) this.end(subscription, 403, 'You are no member any more.')
  }
}
