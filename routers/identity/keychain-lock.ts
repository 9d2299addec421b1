import type { Hooks } from '../core/hooks.ts'

/** The service holds no open key. What it can lock is the browser that did, by having it forget all it kept. */
export function lockKeychain({ from, to, hints }: Hooks['user-type-changed']): void {
  if (from !== 'guest' && to === 'guest') hints.clearSiteData = true
}
