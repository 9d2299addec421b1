import { randomInt } from 'node:crypto'
import type { WebSocket } from 'ws'
import { codes, writeError } from '../../facades/realtime/frames.ts'
import { TokenBucket } from './token-bucket.ts'

/** Unread bytes of a client beyond which it gets neither ephemeral events nor the rows of changes. */
const MAX_UNREAD_WHOLE = 64 * 1024
/** Unread bytes of a client beyond which its connection is closed; the client then reconnects. */
const MAX_UNREAD = 1024 * 1024

const AS_TEXT = { binary: false } as const

const CLIENT_EVENTS_PER_SECOND = 10
const FRAMES_PER_SECOND = 50

/** Milliseconds that a client has to answer the close of its connection. */
const GOODBYE_MS = 2000

/** Creates a socket id of two random numbers, as the protocol demands. */
const createSocketId = () => `${randomInt(1, 1e9)}.${randomInt(1, 1e9)}`

/** The members of a channel that its subscriptions use. */
interface SubscribedChannel {
  readonly name: string
  readonly subscriptions: Set<Subscription>
  /** Sends an ephemeral frame to all other subscribers; slow readers miss it. */
  relay(frame: string, from?: Connection): void
  remove(subscription: Subscription): void
  /** Ends a subscription, and tells the connection, which stays open. */
  end(subscription: Subscription, status: number, reason: string): void
}

export interface Subscription {
  connection: Connection
  channel: SubscribedChannel
  person: number
  /** Public data of the person, for other members. */
  info: object
  /** The session or token that authorized it. */
  credential: string
  /** True if the client may send events to the other subscribers. */
  canPublish: boolean
  /** Id of the membership in the room; the subscription ends with it. */
  member?: number | undefined
}

/** The connection of one client: its subscriptions, credentials and rate limits. */
export class Connection {
  readonly id = createSocketId()
  /** Subscriptions by channel name; undefined while a subscription is being established. */
  readonly subscriptions = new Map<string, Subscription | undefined>()
  /** Sessions and tokens that authorized its subscriptions: one or two, for which an array takes less memory than a set. */
  credentials: readonly string[] = []
  /** Id of the person, which is known from the first subscription on. */
  person: number | undefined
  /** True if the connection is within the person's limit; a promise while that is checked, undefined before. */
  slot: Promise<boolean> | boolean | undefined
  readonly openedAt = performance.now()
  lastActivityAt = this.openedAt
  isPinged = false
  readonly #ws: WebSocket
  readonly #frames: TokenBucket
  /** Rate limit of client events; it is created by the first one, because most clients send none. */
  #clientEvents: TokenBucket | undefined

  constructor(ws: WebSocket, maxChannels: number) {
    this.#ws = ws
    this.#frames = new TokenBucket(2 * maxChannels + FRAMES_PER_SECOND, FRAMES_PER_SECOND)
  }

  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN
  }

  /** True if the client reads fast enough for events that it can do without. */
  get isKeepingUp(): boolean {
    return this.#ws.bufferedAmount <= MAX_UNREAD_WHOLE
  }

  /** Records activity of the client; returns false if it exceeds the rate limit of frames. */
  recordActivity(): boolean {
    this.lastActivityAt = performance.now()
    this.isPinged = false
    return this.#frames.take()
  }

  /** Returns whether the client may send another event now. */
  takeClientEventToken(): boolean {
    this.#clientEvents ??= new TokenBucket(CLIENT_EVENTS_PER_SECOND, CLIENT_EVENTS_PER_SECOND)
    return this.#clientEvents.take()
  }

  send(frame: string | Buffer): void {
    if (!this.isOpen) return
    if (this.#ws.bufferedAmount > MAX_UNREAD) this.close(codes.overCapacity, 'Too much is unread.')
    else this.#ws.send(frame, AS_TEXT)
  }

  /** Sends an ephemeral frame, unless the client reads slowly. */
  sendIfKeepingUp(frame: string | Buffer): void {
    if (this.isOpen && this.isKeepingUp) this.#ws.send(frame, AS_TEXT)
  }

  ping(): void {
    this.isPinged = true
    this.#ws.ping()
  }

  fail(code: number, message: string): void {
    this.send(writeError(code, message))
  }

  /** Sends the reason, then closes the connection with the same code. */
  close(code: number, message: string): void {
    if (!this.isOpen) return
    this.#ws.send(writeError(code, message))
    this.#ws.close(code, message)
    setTimeout(() => this.#ws.terminate(), GOODBYE_MS).unref()
  }

  terminate(): void {
    this.#ws.terminate()
  }
}
