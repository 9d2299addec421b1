import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { type WebSocket, WebSocketServer } from 'ws'
import { type ConnectionError, checkVersion, codes, readKey } from '../../facades/realtime/frames.ts'
import { TokenBucket } from './token-bucket.ts'

/** Largest frame of a client, in bytes. */
const MAX_FRAME = 16 * 1024

/** Status and headers of refusals; only a full or stopping replica asks for a retry. */
const NOT_FOUND = ['404 Not Found']
const UNAVAILABLE = ['503 Service Unavailable', 'Retry-After: 5']

interface UpgradeOptions {
  baseUrl: string
  key: string
  /** Origins of pages that may connect. */
  origins: ReadonlySet<string>
  handshakesPerSecond: number
  /** Is called with each open WebSocket, and the reason if it must be closed. */
  onConnected: (ws: WebSocket, refusal: ConnectionError | undefined) => void
}

/** Upgrades requests for the protocol's URLs to WebSockets, at a limited rate. */
export class UpgradeHandler {
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

  /** Refuses waiting requests, because an open socket would keep the server from closing. */
  close(): void {
    this.#isClosed = true
    this.#queue.close()
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer) {
    socket.on('error', ignoreError)
    const key = readKey(request.url ?? '', this.#basePath)
    if (key === undefined) return endSocket(socket, NOT_FOUND)
    const connect = () => {
      if (socket.destroyed) return
      if (this.#isClosed) return endSocket(socket, UNAVAILABLE)
      this.#wss.handleUpgrade(request, socket, head, (ws) => {
        this.#options.onConnected(ws, this.#findRefusal(request, key))
      })
    }
    if (this.#isClosed || !this.#queue.add(connect)) endSocket(socket, UNAVAILABLE)
  }

  #findRefusal({ url = '', headers: { origin } }: IncomingMessage, key: string): ConnectionError | undefined {
    if (key !== this.#options.key) return { code: codes.unknownKey, message: 'There is no such key.' }
    // Programs send no origin; browsers always do.
    if (origin !== undefined && !this.#options.origins.has(origin))
      return { code: codes.unauthorized, message: 'Pages of this origin may not connect.' }
    return checkVersion(url)
  }
}

/** Ignores an error of a socket, because the socket is closed anyway. A closure would hold the request in memory as long as the socket lives. */
const ignoreError = () => {}

/** Sends a refusal and closes the socket, which Node does not do for upgraded sockets. */
function endSocket(socket: Duplex, lines: readonly string[]): void {
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${[...lines, 'Connection: close', 'Content-Length: 0'].join('\r\n')}\r\n\r\n`)
}

/** Largest wait of a handshake, in seconds; further ones are refused. */
const MAX_WAIT_SECONDS = 20
const SLICE_MS = 50

/** Runs handshakes in order, at a limited rate. */
class HandshakeQueue {
  readonly #bucket: TokenBucket
  readonly #max: number
  readonly #waiting: (() => void)[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(perSecond: number) {
    // The bucket holds the tokens of two slices, so that a late timer does not reduce the rate.
    this.#bucket = new TokenBucket(Math.max(1, (2 * perSecond * SLICE_MS) / 1000), perSecond)
    this.#max = perSecond * MAX_WAIT_SECONDS
  }

  /** Queues a handshake; returns false if too many are waiting. */
  add(run: () => void): boolean {
    if (this.#waiting.length >= this.#max) return false
    this.#waiting.push(run)
    this.#runDue()
    return true
  }

  /** Runs all waiting handshakes immediately. */
  close(): void {
    clearInterval(this.#timer)
    for (const run of this.#waiting.splice(0)) run()
  }

  #runDue(): void {
    while (this.#waiting.length > 0 && this.#bucket.take()) this.#waiting.shift()?.()
    if (this.#waiting.length > 0) {
      this.#timer ??= setInterval(() => this.#runDue(), SLICE_MS).unref()
      return
    }
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
