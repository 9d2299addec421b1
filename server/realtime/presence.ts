import { writeMemberAdded, writeMemberRemoved } from '../../facades/realtime/frames.ts'
import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { KeyValueStore } from '../../routers/ports/key-value-store.ts'
import type { Channel } from './channel.ts'
import type { Subscription } from './connection.ts'
import type { Replicas } from './replicas.ts'

/** Milliseconds until a member list expires unless it is renewed. */
const MEMBERS_TTL_MS = 2 * 60 * 60_000
const RENEWAL_MS = 60 * 60_000

/** Milliseconds for which changes are collected before the member list is published. */
const GATHER_MS = 20

/** Milliseconds until a failed read or write of a list is retried. */
const RETRY_MS = 1000

const TOPIC = 'presence'

/** Public data of people, by id. */
type Members = Map<string, object>

interface PresenceRoom {
  channel: Channel
  /** Members at each other replica. */
  remote: Map<string, Members>
  /** Members that the subscribers of this process know. */
  announced: Members
  /** Resolves once the lists of the other replicas are read. */
  loaded: Promise<unknown>
  timer?: NodeJS.Timeout
}

interface PresenceOptions {
  kv: KeyValueStore
  bus: ChangeBus
  replicas: Replicas
}

/**
 * The members of presence channels at all replicas. Each replica writes its list to the key-value store and broadcasts that it
 * has changed. The lists of dead replicas are ignored. Each list is read and written by one command at a time, so that no older
 * state overwrites a newer one.
 */
export class Presence {
  readonly #kv: KeyValueStore
  readonly #bus: ChangeBus
  readonly #replicas: Replicas
  readonly #rooms = new Map<string, PresenceRoom>()
  readonly #commands = new CommandQueue()
  readonly #retries = new Set<string>()
  readonly #stops: (() => void)[]
  #isClosed = false

  constructor({ kv, bus, replicas }: PresenceOptions) {
    this.#kv = kv
    this.#bus = bus
    this.#replicas = replicas
    replicas.listen({ onJoin: () => this.#readAll(), onLeave: (replica) => this.#removeReplica(replica) })
    const onMessage = (topic: string, content: unknown) => {
      const { channel, replica } = content as { channel: string; replica: string }
      if (topic === TOPIC) void this.#read(channel, replica)
    }
    const stopListening = bus.subscribe({ onChanges() {}, onInterruption: () => this.#readAll(), onMessage })
    const renewal = setInterval(() => this.#renew(), RENEWAL_MS).unref()
    this.#stops = [stopListening, () => clearInterval(renewal)]
  }

  /** Reads the members at the other replicas, before the first subscriber enters here. */
  async prepare(channel: Channel): Promise<void> {
    if (!channel.isPresence) return
    const room = this.#rooms.get(channel.name) ?? this.#open(channel)
    // The room may be left over from an earlier channel of the same name, which was closed when it was empty.
    room.channel = channel
    await room.loaded
  }

  #open(channel: Channel): PresenceRoom {
    const room: PresenceRoom = { channel, remote: new Map(), announced: new Map(), loaded: Promise.resolve() }
    this.#rooms.set(channel.name, room)
    room.loaded = Promise.all([...this.#replicas].map((replica) => this.#read(channel.name, replica)))
    return room
  }

  /** Adds a subscriber and tells the others; returns all members. */
  enter({ channel, connection }: Subscription): Members {
    const room = this.#rooms.get(channel.name)
    if (!room) return new Map()
    this.#announce(room, connection)
    this.#publishSoon(room)
    return room.announced
  }

  leave(channel: Channel): void {
    const room = this.#rooms.get(channel.name)
    if (!room) return
    this.#announce(room)
    this.#publishSoon(room)
  }

  close(): void {
    this.#isClosed = true
    for (const stop of this.#stops) stop()
    for (const { timer } of this.#rooms.values()) clearTimeout(timer)
  }

  #announce(room: PresenceRoom, except?: Subscription['connection']): void {
    const remote = [...room.remote.values()].flatMap((members) => [...members])
    const current: Members = new Map([...remote, ...listLocalMembers(room)])
    const { name } = room.channel
    for (const [id, info] of current)
      if (!room.announced.has(id)) room.channel.broadcast(writeMemberAdded(name, id, info), except)
    for (const id of room.announced.keys())
      if (!current.has(id)) room.channel.broadcast(writeMemberRemoved(name, id), except)
    room.announced = current
  }

  #read(channel: string, replica: string): Promise<void> {
    return this.#commands.run(`read ${channel} ${replica}`, () => this.#readList(channel, replica))
  }

  async #readList(channel: string, replica: string): Promise<void> {
    if (!this.#rooms.has(channel)) return
    const text = await this.#kv.get(buildKey(channel, replica)).catch(() => null)
    const room = this.#rooms.get(channel)
    if (!room || !this.#replicas.has(replica)) return
    if (text === null) return this.#retryLater(`read ${channel} ${replica}`, () => this.#read(channel, replica))
    if (text === undefined) room.remote.delete(replica)
    else room.remote.set(replica, new Map(JSON.parse(text) as [string, object][]))
    this.#announce(room)
  }

  #readAll(): void {
    for (const [channel, room] of this.#rooms) {
      this.#publishSoon(room)
      for (const replica of this.#replicas) void this.#read(channel, replica)
    }
  }

  #removeReplica(replica: string): void {
    for (const room of this.#rooms.values()) if (room.remote.delete(replica)) this.#announce(room)
  }

  #renew(): void {
    for (const room of this.#rooms.values()) this.#publishSoon(room)
  }

  #publishSoon(room: PresenceRoom): void {
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
    const members = [...listLocalMembers(room)]
    const key = buildKey(channel, this.#replicas.own)
    try {
      await (members.length > 0 ? this.#kv.set(key, JSON.stringify(members), MEMBERS_TTL_MS) : this.#kv.delete(key))
    } catch {
      return this.#retryLater(`write ${channel}`, () => this.#publish(channel))
    }
    this.#bus.broadcast(TOPIC, { channel, replica: this.#replicas.own })
    if (members.length === 0 && isEmpty(room)) this.#close(room)
  }

  #close(room: PresenceRoom): void {
    clearTimeout(room.timer)
    this.#rooms.delete(room.channel.name)
  }

  #retryLater(name: string, command: () => Promise<void>): void {
    if (this.#retries.has(name)) return
    this.#retries.add(name)
    setTimeout(() => {
      this.#retries.delete(name)
      if (!this.#isClosed) void command()
    }, RETRY_MS).unref()
  }
}

const buildKey = (channel: string, replica: string) => `presence:${channel}:${replica}`

const listLocalMembers = ({ channel }: PresenceRoom): Members =>
  new Map([...channel.subscriptions].map(({ person, info }) => [String(person), info]))

const isEmpty = ({ channel }: PresenceRoom): boolean => channel.subscriptions.size + channel.entering === 0

interface Run {
  shouldRepeat: boolean
  completed: Promise<void>
}

/** Runs commands of one name one after the other. Calls during a run lead to one more run, because only the newest state counts. */
class CommandQueue {
  readonly #running = new Map<string, Run>()

  /** Resolves once a run has ended that started after this call. The work of one name is always the same, and never throws. */
  run(name: string, work: () => Promise<void>): Promise<void> {
    const running = this.#running.get(name)
    if (running) running.shouldRepeat = true
    return running?.completed ?? this.#start(name, work)
  }

  #start(name: string, work: () => Promise<void>): Promise<void> {
    const run = { shouldRepeat: true, completed: Promise.resolve() }
    this.#running.set(name, run)
    run.completed = this.#runAll(name, run, work)
    return run.completed
  }

  async #runAll(name: string, run: Run, work: () => Promise<void>): Promise<void> {
    try {
      while (run.shouldRepeat) {
        run.shouldRepeat = false
        await work()
      }
    } finally {
      // The entry is removed in the same turn of the event loop, so that later calls start a new run.
      this.#running.delete(name)
    }
  }
}
