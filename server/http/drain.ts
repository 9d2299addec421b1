import { once } from 'node:events'
import type { Server, ServerResponse } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

interface DrainTimes {
  /** How long requests are still served while readiness says no. */
  delay: number
  /** How long requests under way may take after that. */
  timeout: number
}

/** The way to the end of a server: first load balancers leave it out, then it takes no new work, then the last answer goes. */
export interface Drain {
  watch(server: Server): void
  /** Whether new work belongs elsewhere; it is still done. */
  isDraining(): boolean
  /** Whether new work is refused. */
  isRefusing(): boolean
  /** Waits until the last answer is out, or the time is up; false says that answers are missing. */
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
      // In front of the handler, which may answer at once.
      watched.prependListener('request', (_, response) => {
        if (phase !== 'serving') closeAfter(response)
        underWay.add(response)
        response.once('close', () => {
          underWay.delete(response)
          if (underWay.size === 0) idle.dispatchEvent(new Event('idle'))
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
      if (underWay.size > 0) await once(idle, 'idle', { signal: AbortSignal.timeout(timeout) }).catch(() => {})
      return underWay.size === 0
    },
  }
}

/** The client's next request takes a new connection, which a load balancer leads to another replica. */
function closeAfter(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('connection', 'close')
}
