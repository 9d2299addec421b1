import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
let hasEnded = false

export function setSessionEnded(ended: boolean): void {
  if (ended === hasEnded) return
  hasEnded = ended
  for (const listener of listeners) listener()
}

/** Calls when the session has ended while the page is open. */
export const onSessionEnd = (listener: () => void): (() => void) => subscribe(() => hasEnded && listener())

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Whether the session has ended while the page was open. */
export const useSessionEnd = (): boolean => useSyncExternalStore(subscribe, () => hasEnded)
