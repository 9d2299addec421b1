import { useSyncExternalStore } from 'react'
import { fetchUnlessSilent } from './silence.ts'

const listeners = new Set<() => void>()
let hasEnded = false

/** Calls the service, and notes when it says that nobody is signed in any more. */
export const watchedFetch: typeof fetch = async (input, init) => {
  const response = await fetchUnlessSilent(input, init)
  if (response.status === 401) setEnded(true)
  return response
}

export function setEnded(ended: boolean): void {
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
