import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { codes, keyIn, type Refusal, versionRefusal } from '../../facades/realtime/frames.ts'
import { TokenBucket } from './token-bucket.ts'

/** Bytes of a frame that a client sends. */
const MAX_FRAME = 16 * 1024

/** Status and headers of a refusal; only what is full or stopping now is worth another try. */
const NOT_FOUND = ['404 Not Found']
const UNAVAILABLE = ['503 Service Unavailable', 'Retry-After: 5']

interface UpgradeOptions {
  baseUrl: string
  key: string
  /** Origins whose pages may connect. */
  origins: ReadonlySet<string>
  handshakesPerSecond: number
  /** Takes who has connected, and why they may not stay. */
  onConnected: (ws: WebSocket, refusal: Refusal | undefined) => void
}

/** Turns requests to the addresses of the protocol into connections, so many a second. */
export class Upgrades {
  readonly #options: UpgradeOptions
  readonly #basePath: string
  readonly #queue: HandshakeQueue
  #isClosed = false
  readonly #wss = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload: MAX_FRAME })

  constructor(server: Server, options: UpgradeOptions) {
    this.#options = options
    this.#basePath = new URL(options.baseUrl).pathname.replace(/\/$/, '')
    this.#queue = new HandshakeQueue(options.handshakesPerSecond)
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
  }

  /** Refuses what still waits: an open socket would keep the server from its end. */
  close(): void {
    this.#isClosed = true
    this.#queue.close()
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
    socket.on('error', ignore)
    const key = keyIn(request.url ?? '', this.#basePath)
    if (key === undefined) return end(socket, NOT_FOUND)
    const connect = () => {
      if (socket.destroyed) return
      if (this.#isClosed) return end(socket, UNAVAILABLE)
      this.#wss.handleUpgrade(request, socket, head, (ws) => {
        this.#options.onConnected(ws, this.#findRefusal(request, key))
      })
    }
    if (this.#isClosed || !this.#queue.add(connect)) end(socket, UNAVAILABLE)
  }

  #findRefusal({ url = '', headers: { origin } }: IncomingMessage, key: string): Refusal | undefined {
    if (key !== this.#options.key) return { code: codes.unknownKey, message: 'There is no such key.' }
    // Programs send no origin; browsers always do.
    if (origin !== undefined && !this.#options.origins.has(origin))
      return { code: codes.unauthorized, message: 'Pages of this origin may not connect.' }
    return versionRefusal(url)
  }
}

/** What breaks a socket closes it, too. A function made above would hold the request as long as the socket lives. */
const ignore = () => {}

/** A socket that is no server's any more stays open as long as its client likes, unless it is closed from here. */
function end(socket: Duplex, lines: readonly string[]): void {
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${[...lines, 'Connection: close', 'Content-Length: 0'].join('\r\n')}\r\n\r\n`)
}

/** How many may wait, as seconds of work. */
const MAX_WAIT_SECONDS = 20
const SLICE_MS = 50

/** Lets so many handshakes pass a second, in the order in which they came. */
class HandshakeQueue {
  readonly #bucket: TokenBucket
  readonly #max: number
  readonly #waiting: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(perSecond: number) {
    // Room for two slices: a timer that is late must not slow the others down.
    this.#bucket = new TokenBucket(Math.max(1, (2 * perSecond * SLICE_MS) / 1000), perSecond)
    this.#max = perSecond * MAX_WAIT_SECONDS
  }

  /** Runs it when it is its turn; returns false where too many wait already. */
  add(run: () => void): boolean {
    if (this.#waiting.length >= this.#max) return false
    this.#waiting.push(run)
    this.#pass()
    return true
  }

  /** Runs all that wait at once. */
  close(): void {
    clearInterval(this.#timer)
    for (const run of this.#waiting.splice(0)) run()
  }

  #pass(): void {
    while (this.#waiting.length > 0 && this.#bucket.take()) this.#waiting.shift()?.()
    if (this.#waiting.length > 0) {
      this.#timer ??= setInterval(() => this.#pass(), SLICE_MS).unref()
      return
    }
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
