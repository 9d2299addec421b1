import { setTimeout as pause } from 'node:timers/promises'
import { Problem } from '../../routers/core/problems.ts'
import type { ConcurrencyLimiter } from '../../routers/ports/concurrency-limiter.ts'
import type { CredentialWatch } from '../../routers/ports/credential-watch.ts'
import type { Subscriber, Subscriptions } from '../../routers/ports/subscriptions.ts'

/** Number of slices in which subscriptions are ended, so that their clients do not all reconnect at the same time. */
const SLICES = 20
/** Smallest number of subscriptions in a slice. */
const MIN_SLICE = 50

interface SubscriptionsOptions {
  credentials: CredentialWatch
  limiter: ConcurrencyLimiter
  /** Largest number in this process. */
  max: number
  /** Largest number per person at all replicas. */
  maxPerPerson: number
}

/** Creates the registry of server-sent event subscriptions, with their limits. */
export function createSubscriptions({ credentials, limiter, max, maxPerPerson }: SubscriptionsOptions): Subscriptions {
  const open = new Set<Subscriber>()
  let isDraining = false

  return {
    async open(subscriber) {
      if (isDraining) throw new Problem('unavailable')
      if (open.size >= max) throw new Problem('busy')
      open.add(subscriber)
      const cleanUp: (() => void)[] = [() => open.delete(subscriber)]
      const close = () => {
        for (const step of cleanUp) step()
      }
      try {
        const key = `subscriptions:${subscriber.person}`
        if (!(await limiter.acquire(key, maxPerPerson)))
          throw new Problem('too_many_requests', { detail: 'You have too many subscriptions.' })
        cleanUp.push(() => limiter.release(key))
        const stop = await credentials.watch(subscriber.credential, () => subscriber.onSignedOut())
        if (!stop) throw new Problem('signed_out')
        cleanUp.push(stop)
        return close
      } catch (error) {
        close()
        throw error
      }
    },
    count: () => open.size,
    async drain(milliseconds) {
      isDraining = true
      const all = [...open]
      const slice = Math.max(MIN_SLICE, Math.ceil(all.length / SLICES))
      for (let from = 0; from < all.length; from += slice) {
        if (from > 0) await pause(milliseconds / SLICES)
        for (const subscriber of all.slice(from, from + slice)) subscriber.onDrain()
      }
    },
  }
}
