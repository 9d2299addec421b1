import { setTimeout as pause } from 'node:timers/promises'
import { Problem } from '../../routers/core/problems.ts'
import type { CredentialWatch } from '../../routers/ports/credential-watch.ts'
import type { Subscriber, Subscriptions } from '../../routers/ports/subscriptions.ts'

interface SubscriptionQuotas {
  max: number
  maxPerPerson: number
}

/** Subscriptions are ended in so many slices, or in slices of this size, so that their clients do not all come back at once. */
const SLICES = 20
const MIN_SLICE = 50

export function createSubscriptions(credentials: CredentialWatch, quotas: SubscriptionQuotas): Subscriptions {
  const open = new Set<Subscriber>()
  const perPerson = new Map<number, number>()
  let isDraining = false

  function enter(subscriber: Subscriber): void {
    const own = perPerson.get(subscriber.person) ?? 0
    if (isDraining) throw new Problem('unavailable')
    if (open.size >= quotas.max) throw new Problem('busy')
    if (own >= quotas.maxPerPerson)
      throw new Problem('too_many_requests', { detail: 'You have too many subscriptions.' })
    open.add(subscriber)
    perPerson.set(subscriber.person, own + 1)
  }

  function leave(subscriber: Subscriber): void {
    if (!open.delete(subscriber)) return
    const left = (perPerson.get(subscriber.person) ?? 1) - 1
    if (left > 0) perPerson.set(subscriber.person, left)
    else perPerson.delete(subscriber.person)
  }

  return {
    async open(subscriber) {
      enter(subscriber)
      try {
        const stop = await credentials.watch(subscriber.credential, () => subscriber.signedOut())
        if (!stop) throw new Problem('signed_out')
        return () => {
          stop()
          leave(subscriber)
        }
      } catch (error) {
        leave(subscriber)
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
        for (const subscriber of all.slice(from, from + slice)) subscriber.drained()
      }
    },
  }
}
