import { randomInt } from 'node:crypto'
import type { WebSocket } from 'ws'
import { codes, failed } from '../../facades/realtime/frames.ts'
import { TokenBucket } from './token-bucket.ts'

/** Bytes that a client has not read: from here on it misses what does not last, then it is closed and comes back. */
const MAX_UNREAD_PASSING = 64 * 1024
const MAX_UNREAD = 1024 * 1024

const AS_TEXT = { binary: false } as const

const CLIENT_EVENTS_PER_SECOND = 10
const FRAMES_PER_SECOND = 50

/** How long a client has to answer the end of its connection, in milliseconds. */
const GOODBYE_MS = 2000

/** Two numbers that nobody guesses. */
const newSocketId = () => `${randomInt(1, 1e9)}.${randomInt(1, 1e9)}`

/** What connections are subscribed to. */
interface Subscribed {
  readonly name: string
  readonly subscriptions: Set<Subscription>
  /** Tells all others, unless they read slowly. */
  relay(frame: string, from?: Connection): void
  drop(subscription: Subscription): void
  /** Ends a subscription, and says so where the connection goes on. */
  end(subscription: Subscription, status: number, reason: string): void
}

export interface Subscription {
  connection: Connection
  channel: Subscribed
  person: number
  /** What others see of the person. */
  info: object
  /** By what it was signed. */
  credential: string
  /** Whether it may tell the others something. */
  mayTell: boolean
  /** In a room, the membership with which it ends. */
  member?: number | undefined
}

/** One client: what it is subscribed to, and what it may still do. */
export class Connection {
  readonly id = newSocketId()
  /** By the names of channels. One that is on its way has none yet. */
  readonly subscriptions = new Map<string, Subscription | undefined>()
  /** By what its subscriptions were signed: one or two, for which a list is smaller than a set. */
  credentials: readonly string[] = []
  /** Known from the first subscription on. */
  person: number | undefined
  /** Whether the person may have it beside their others: undefined until somebody asks, a promise until that is known. */
  place: Promise<boolean> | boolean | undefined
  readonly openedAt = performance.now()
  heardAt = this.openedAt
  isPinged = false
  readonly #ws: WebSocket
  readonly #frames: TokenBucket
  /** Made by the first event: most clients send none. */
  #clientEvents: TokenBucket | undefined

  constructor(ws: WebSocket, maxChannels: number) {
    this.#ws = ws
    this.#frames = new TokenBucket(2 * maxChannels + FRAMES_PER_SECOND, FRAMES_PER_SECOND)
  }

  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN
  }

  /** Notes a sign of life; whether the client may send a frame. */
  heard(): boolean {
    this.heardAt = performance.now()
    this.isPinged = false
    return this.#frames.take()
  }

  mayTellOthers(): boolean {
    this.#clientEvents ??= new TokenBucket(CLIENT_EVENTS_PER_SECOND, CLIENT_EVENTS_PER_SECOND)
    return this.#clientEvents.take()
  }

  send(frame: string | Buffer): void {
    if (!this.isOpen) return
    if (this.#ws.bufferedAmount > MAX_UNREAD) this.close(codes.overCapacity, 'Too much is unread.')
    else this.#ws.send(frame, AS_TEXT)
  }

  /** Sends what a client may miss that reads slowly. */
  sendPassing(frame: string | Buffer): void {
    if (this.isOpen && this.#ws.bufferedAmount <= MAX_UNREAD_PASSING) this.#ws.send(frame, AS_TEXT)
  }

  ping(): void {
    this.isPinged = true
    this.#ws.ping()
  }

  fail(code: number, message: string): void {
    this.send(failed(code, message))
  }

  /** Says why, then ends the connection by the same code. */
  close(code: number, message: string): void {
    if (!this.isOpen) return
    this.#ws.send(failed(code, message))
    this.#ws.close(code, message)
    setTimeout(() => this.#ws.terminate(), GOODBYE_MS).unref()
  }

  terminate(): void {
    this.#ws.terminate()
  }
}
