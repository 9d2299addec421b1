import { createBulkhead, InFlightLimiter, KeyedSemaphore } from '../../routers/core/load/concurrency.ts'
import { Pauses } from '../../routers/core/load/pauses.ts'
import type { LimitServices } from '../../routers/core/services.ts'
import type { ConcurrencyLimiter } from '../../routers/ports/concurrency-limiter.ts'
import type { RateLimiter } from '../../routers/ports/rate-limiter.ts'
import type { Env } from '../config/settings.ts'

/** Creates the limits of requests, on the limiter of all replicas. */
export const createLimitServices = (
  env: Env,
  { limiter, concurrencyLimiter }: { limiter: RateLimiter; concurrencyLimiter: ConcurrencyLimiter },
): LimitServices => ({
  limiter,
  gatewayCalls: concurrencyLimiter,
  semaphores: createSemaphores(env),
  // Each follower waits for one comparison at most.
  comparisons: createBulkhead(1, Infinity),
  uploads: new InFlightLimiter({ perKey: env.UPLOADS_PER_PERSON, inAll: env.UPLOADS_AT_ONCE }),
  aiBytes: new InFlightLimiter({ perKey: env.AI_BYTES_PER_PERSON, inAll: env.AI_BYTES_AT_ONCE }),
  aiCalls: new InFlightLimiter({ perKey: env.AI_CALLS_PER_PERSON, inAll: Infinity }),
  embedderPauses: new Pauses(),
})

/** Connections for requests that wait for the same lock: one for its holder, and one for the next request. */
const MAX_CHANGES_PER_LOCK = 2
const MAX_WAITING = 500

/** Searches of one person at once, which may have to make indexes. A model whose search is refused answers without a passage. */
const MAX_SEARCHES = 2
const MAX_SEARCH_WAIT_MS = 60_000

function createSemaphores({
  DATABASE_POOL,
  DATABASE_PER_PERSON,
  DATABASE_LOCK_TIMEOUT: maxWaitMs,
}: Env): LimitServices['semaphores'] {
  const waiting = { maxWaiting: MAX_WAITING, maxWaitMs }
  const perPerson = Math.min(DATABASE_PER_PERSON, DATABASE_POOL - 1)
  return {
    person: new KeyedSemaphore({ perKey: perPerson, refusal: 'too_many_requests', ...waiting }),
    change: new KeyedSemaphore({ perKey: MAX_CHANGES_PER_LOCK, refusal: 'busy', ...waiting }),
    search: new KeyedSemaphore({
      perKey: MAX_SEARCHES,
      maxWaiting: MAX_WAITING,
      maxWaitMs: MAX_SEARCH_WAIT_MS,
      refusal: 'too_many_requests',
    }),
  }
}
