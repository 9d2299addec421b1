import { memberAdded, memberRemoved } from '../../facades/realtime/frames.ts'
import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { KeyValueStore } from '../../routers/ports/key-value-store.ts'
import type { Channel } from './channel.ts'
import type { Subscription } from './connection.ts'
import type { Replicas } from './replicas.ts'

/** Longer than anybody stays without an hourly renewal. */
const MEMBERS_TTL_MS = 2 * 60 * 60_000
const RENEWAL_MS = 60 * 60_000

/** Those who come and go within this time are told to other replicas together. */
const GATHER_MS = 20

/** When a list is asked for or written again where that failed, in milliseconds. */
const RETRY_MS = 1000

const TOPIC = 'presence'

/** People by id, each with what others see of them. */
type Members = Map<string, object>

interface Room {
  channel: Channel
  /** At each of the other replicas. */
  elsewhere: Map<string, Members>
  told: Members
  /** Until then it is not known who is elsewhere. */
  begun: Promise<unknown>
  timer?: NodeJS.Timeout
}

interface PresenceOptions {
  kv: KeyValueStore
  bus: ChangeBus
  replicas: Replicas
}

/**
 * Who is in the presence channels, at all replicas: each keeps its own list in the key-value store and tells the others that
 * it changed. The list of a replica that gives no sign of life is of no account. Each list is written, and read, by one
 * command at a time: no older state lands after a newer one.
 */
export class Presence {
  readonly #kv: KeyValueStore
  readonly #bus: ChangeBus
  readonly #replicas: Replicas
  readonly #rooms = new Map<string, Room>()
  readonly #commands = new OneAtATime()
  readonly #retries = new Set<string>()
  readonly #stops: (() => void)[]
  #isClosed = false

  constructor({ kv, bus, replicas }: PresenceOptions) {
    this.#kv = kv
    this.#bus = bus
    this.#replicas = replicas
    replicas.listen({ came: () => this.#readAll(), gone: (replica) => this.#forget(replica) })
    const told = (topic: string, content: unknown) => {
      const { channel, replica } = content as { channel: string; replica: string }
      if (topic === TOPIC) void this.#read(channel, replica)
    }
    const stopListening = bus.subscribe({ onChanges() {}, onInterruption: () => this.#readAll(), onMessage: told })
    const renewal = setInterval(() => this.#renew(), RENEWAL_MS).unref()
    this.#stops = [stopListening, () => clearInterval(renewal)]
  }

  /** Learns who is at the other replicas, before somebody enters here. */
  async prepare(channel: Channel): Promise<void> {
    if (!channel.isPresence) return
    const room = this.#rooms.get(channel.name) ?? this.#open(channel)
    // The channel of those who were here before closed as they left.
    room.channel = channel
    await room.begun
  }

  #open(channel: Channel): Room {
    const room: Room = { channel, elsewhere: new Map(), told: new Map(), begun: Promise.resolve() }
    this.#rooms.set(channel.name, room)
    room.begun = Promise.all([...this.#replicas].map((replica) => this.#read(channel.name, replica)))
    return room
  }

  /** Everybody who is there, once somebody has entered; the others are told. */
  enter({ channel, connection }: Subscription): Members {
    const room = this.#rooms.get(channel.name)
    if (!room) return new Map()
    this.#tell(room, connection)
    this.#publishSoon(room)
    return room.told
  }

  left(channel: Channel): void {
    const room = this.#rooms.get(channel.name)
    if (!room) return
    this.#tell(room)
    this.#publishSoon(room)
  }

  close(): void {
    this.#isClosed = true
    for (const stop of this.#stops) stop()
    for (const { timer } of this.#rooms.values()) clearTimeout(timer)
  }

  #tell(room: Room, except?: Subscription['connection']): void {
    const now: Members = new Map([...[...room.elsewhere.values()].flatMap((members) => [...members]), ...here(room)])
    const { name } = room.channel
    for (const [id, info] of now) if (!room.told.has(id)) room.channel.tell(memberAdded(name, id, info), except)
    for (const id of room.told.keys()) if (!now.has(id)) room.channel.tell(memberRemoved(name, id), except)
    room.told = now
  }

  #read(channel: string, replica: string): Promise<void> {
    return this.#commands.run(`read ${channel} ${replica}`, () => this.#readList(channel, replica))
  }

  async #readList(channel: string, replica: string): Promise<void> {
    if (!this.#rooms.has(channel)) return
    const text = await this.#kv.get(buildKey(channel, replica)).catch(() => null)
    const room = this.#rooms.get(channel)
    if (!room || !this.#replicas.has(replica)) return
    if (text === null) return this.#later(`read ${channel} ${replica}`, () => this.#read(channel, replica))
    if (text === undefined) room.elsewhere.delete(replica)
    else room.elsewhere.set(replica, new Map(JSON.parse(text) as [string, object][]))
    this.#tell(room)
  }

  #readAll(): void {
    for (const [channel, room] of this.#rooms) {
      this.#publishSoon(room)
      for (const replica of this.#replicas) void this.#read(channel, replica)
    }
  }

  #forget(replica: string): void {
    for (const room of this.#rooms.values()) if (room.elsewhere.delete(replica)) this.#tell(room)
  }

  #renew(): void {
    for (const room of this.#rooms.values()) this.#publishSoon(room)
  }

  #publishSoon(room: Room): void {
    room.timer ??= setTimeout(() => {
      delete room.timer
      void this.#publish(room.channel.name)
    }, GATHER_MS).unref()
  }

  #publish(channel: string): Promise<void> {
    return this.#commands.run(`write ${channel}`, () => this.#writeList(channel))
  }

  async #writeList(channel: string): Promise<void> {
    const room = this.#rooms.get(channel)
    if (!room) return
    const members = [...here(room)]
    const key = buildKey(channel, this.#replicas.own)
    try {
      await (members.length > 0 ? this.#kv.set(key, JSON.stringify(members), MEMBERS_TTL_MS) : this.#kv.delete(key))
    } catch {
      return this.#later(`write ${channel}`, () => this.#publish(channel))
    }
    this.#bus.broadcast(TOPIC, { channel, replica: this.#replicas.own })
    if (members.length === 0 && isEmpty(room)) this.#close(room)
  }

  #close(room: Room): void {
    clearTimeout(room.timer)
    this.#rooms.delete(room.channel.name)
  }

  #later(name: string, command: () => Promise<void>): void {
    if (this.#retries.has(name)) return
    this.#retries.add(name)
    setTimeout(() => {
      this.#retries.delete(name)
      if (!this.#isClosed) void command()
    }, RETRY_MS).unref()
  }
}

const buildKey = (channel: string, replica: string) => `presence:${channel}:${replica}`

const here = ({ channel }: Room): Members =>
  new Map([...channel.subscriptions].map(({ person, info }) => [String(person), info]))

const isEmpty = ({ channel }: Room): boolean => channel.subscriptions.size + channel.entering === 0

interface Run {
  isAskedAgain: boolean
  over: Promise<void>
}

/** Runs work of one name one after the other. What is asked for meanwhile is done by one more run: only the newest state counts. */
class OneAtATime {
  readonly #running = new Map<string, Run>()

  /** Resolves once a run is over that began after this call. The work of one name is always the same, and throws nothing. */
  run(name: string, work: () => Promise<void>): Promise<void> {
    const running = this.#running.get(name)
    if (running) running.isAskedAgain = true
    return running?.over ?? this.#start(name, work)
  }

  #start(name: string, work: () => Promise<void>): Promise<void> {
    const run = { isAskedAgain: true, over: Promise.resolve() }
    this.#running.set(name, run)
    run.over = this.#runAll(name, run, work)
    return run.over
  }

  async #runAll(name: string, run: Run, work: () => Promise<void>): Promise<void> {
    try {
      while (run.isAskedAgain) {
        run.isAskedAgain = false
        await work()
      }
    } finally {
      // In the same turn: who asks from here on needs a run of their own.
      this.#running.delete(name)
    }
  }
}
