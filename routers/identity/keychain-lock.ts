import type { DomainEvents } from '../core/events.ts'

/** The service holds no open key. What it can lock is the browser that did, by having it forget all it kept. */
export function lockKeychain({ from, to, notes }: DomainEvents['user-type-changed']): void {
  if (from !== 'guest' && to === 'guest') notes.forget = true
}
