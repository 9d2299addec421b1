import { once } from 'node:events'
import type { Server } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

export interface DrainTimes {
  /** Milliseconds for which requests are still served while the service is not ready. */
  delay: number
  /** Milliseconds that running requests may take after that. */
  timeout: number
}

/** Stops a server in three phases: load balancers notice that it is not ready, it refuses new requests, and the last responses complete. */
export interface Drain {
  watch(server: Server): void
  /** Returns whether the service reports that it is not ready; new requests are still served. */
  isDraining(): boolean
  /** Returns whether new requests are refused. */
  isRefusing(): boolean
  /** Drains the server; resolves with false if responses are still running after the timeout. */
  start(times: DrainTimes): Promise<boolean>
}

export function createDrain(): Drain {
  // The responses are counted, because a Set of them doubles the p99 of the suite `reads` in test/bench.
  let responses = 0
  const idle = new EventTarget()
  let phase: 'serving' | 'draining' | 'refusing' = 'serving'
  let server: Server | undefined

  return {
    watch(watched) {
      server = watched
      // This listener runs before the handler, which may respond synchronously.
      watched.prependListener('request', (_, response) => {
        responses++
        response.once('close', () => {
          responses--
          if (phase === 'refusing' && responses === 0) idle.dispatchEvent(new Event('idle'))
        })
      })
    },
    isDraining: () => phase !== 'serving',
    isRefusing: () => phase === 'refusing',
    async start({ delay, timeout }) {
      phase = 'draining'
      await pause(delay)
      phase = 'refusing'
      server?.closeIdleConnections()
      if (responses > 0) await once(idle, 'idle', { signal: AbortSignal.timeout(timeout) }).catch(() => {})
      return responses === 0
    },
  }
}
