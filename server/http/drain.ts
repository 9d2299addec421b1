import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

export interface DrainTimes {
  /** How long requests are still served while readiness says no. */
  delay: number
  /** How long requests under way may take after that. */
  timeout: number
}

/** Stops a server in three phases: load balancers take it out, it refuses new requests, and the last answers complete. */
export interface Drain {
  watch(server: Server): void
  /** Whether readiness says no; new requests are still served. */
  isDraining(): boolean
  /** Whether new requests are refused. */
  isRefusing(): boolean
  /** Waits for the answers under way; resolves to false if the time-out ends first. */
  start(times: DrainTimes): Promise<boolean>
}

export function createDrain(): Drain {
  const underWay = new ResponsesUnderWay()
  const idle = new EventTarget()
  let phase: 'serving' | 'draining' | 'refusing' = 'serving'
  let server: Server | undefined

  return {
    watch(watched) {
      server = watched
      // Runs before the handler, which may answer synchronously.
      watched.prependListener('request', ({ socket }, response) => {
        if (phase !== 'serving') closeAfter(response)
        underWay.add(socket, response)
        response.once('close', () => {
          underWay.remove(socket, response)
          if (phase === 'refusing' && underWay.count === 0) idle.dispatchEvent(new Event('idle'))
        })
      })
    },
    isDraining: () => phase !== 'serving',
    isRefusing: () => phase === 'refusing',
    async start({ delay, timeout }) {
      phase = 'draining'
      underWay.forEach(closeAfter)
      await pause(delay)
      phase = 'refusing'
      server?.closeIdleConnections()
      if (underWay.count > 0) await once(idle, 'idle', { signal: AbortSignal.timeout(timeout) }).catch(() => {})
      return underWay.count === 0
    },
  }
}

/**
 * The last answer of each connection while it is under way. A set of answers alone would be built anew all the time: the
 * engine links each old table to the next, so that one which grows old keeps all later answers from being collected early.
 */
class ResponsesUnderWay {
  readonly #byConnection = new Map<Socket, ServerResponse | undefined>()
  count = 0

  add(socket: Socket, response: ServerResponse): void {
    if (!this.#byConnection.has(socket)) socket.once('close', () => this.#byConnection.delete(socket))
    this.#byConnection.set(socket, response)
    this.count += 1
  }

  remove(socket: Socket, response: ServerResponse): void {
    if (this.#byConnection.get(socket) === response) this.#byConnection.set(socket, undefined)
    this.count -= 1
  }

  forEach(act: (response: ServerResponse) => void): void {
    for (const response of this.#byConnection.values()) if (response) act(response)
  }
}

/** Closes the connection after the answer, so that the load balancer sends the client's next request to another replica. */
function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}
