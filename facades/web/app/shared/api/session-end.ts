import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
let hasEnded = false

export function setSessionEnded(ended: boolean): void {
  if (ended === hasEnded) return
  hasEnded = ended
  for (const listener of listeners) listener()
}

/** Registers a listener for the end of the session. */
export const onSessionEnd = (listener: () => void): (() => void) => subscribe(() => hasEnded && listener())

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Returns true once the session has ended. */
export const useSessionEnd = (): boolean => useSyncExternalStore(subscribe, () => hasEnded)
