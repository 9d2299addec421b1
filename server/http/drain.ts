import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
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
  const underWay = new Set<ServerResponse>()
  const idle = new EventTarget()
  let phase: 'serving' | 'draining' | 'refusing' = 'serving'
  let server: Server | undefined

  return {
    watch(watched) {
      server = watched
      // Runs before the handler, which may answer synchronously.
      watched.prependListener('request', (_, response) => {
        if (phase !== 'serving') closeAfter(response)
        underWay.add(response)
        response.once('close', () => {
          underWay.delete(response)
          if (phase === 'refusing' && underWay.size === 0) idle.dispatchEvent(new Event('idle'))
        })
      })
    },
    isDraining: () => phase !== 'serving',
    isRefusing: () => phase === 'refusing',
    async start({ delay, timeout }) {
      phase = 'draining'
      for (const response of underWay) closeAfter(response)
      await pause(delay)
      phase = 'refusing'
      server?.closeIdleConnections()
      if (underWay.size > 0) await once(idle, 'idle', { signal: AbortSignal.timeout(timeout) }).catch(() => {})
      return underWay.size === 0
    },
  }
}

/** Closes the connection after the answer, so that the load balancer sends the client's next request to another replica. */
function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}
