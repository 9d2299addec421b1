import { once } from 'node:events'
import type { Server } from 'node:http'

/** The way to the end of a server: no new work, and time for the work under way. */
export interface Drain {
  watch(server: Server): void
  isDraining(): boolean
  /** Waits until the last answer is out, or the time is up; then it tells so with false. */
  start(ms: number): Promise<boolean>
}

export function createDrain(): Drain {
  const idle = new EventTarget()
  let draining = false
  let underWay = 0
  return {
    watch(server) {
      server.on('request', (_, response) => {
        underWay += 1
        response.once('close', () => {
          underWay -= 1
          if (underWay === 0) idle.dispatchEvent(new Event('idle'))
        })
      })
    },
    isDraining: () => draining,
    async start(ms) {
      draining = true
      if (underWay > 0) await once(idle, 'idle', { signal: AbortSignal.timeout(ms) }).catch(() => {})
      return underWay === 0
    },
  }
}
