import { useSyncExternalStore } from 'react'
import { Listeners } from '../listeners.ts'

const listeners = new Listeners()
let hasEnded = false

export function setSessionEnded(ended: boolean): void {
  if (ended === hasEnded) return
  hasEnded = ended
  listeners.notify()
}

/** Registers a listener for the end of the session. */
export const onSessionEnd = (listener: () => void): (() => void) => listeners.subscribe(() => hasEnded && listener())

/** Returns true once the session has ended. */
export const useSessionEnd = (): boolean => useSyncExternalStore(listeners.subscribe, () => hasEnded)
