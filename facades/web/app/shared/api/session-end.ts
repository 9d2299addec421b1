import { useSyncExternalStore } from 'react'
import { Listeners } from '../listeners.ts'

const listeners = new Listeners()
let hasEnded = false
let sessions = 0

export function setSessionEnded(ended: boolean): void {
  if (ended === hasEnded) return
  hasEnded = ended
  listeners.notify()
}

/** Marks that the person has signed in on this page, which ends the session before. */
export function beginSession(): void {
  sessions += 1
  setSessionEnded(false)
}

/** Returns the number of sign-ins on this page so far. */
export const countSessions = (): number => sessions

/** Registers a listener for the end of the session. */
export const onSessionEnd = (listener: () => void): (() => void) => listeners.subscribe(() => hasEnded && listener())

/** Returns true once the session has ended. */
export const useSessionEnd = (): boolean => useSyncExternalStore(listeners.subscribe, () => hasEnded)
