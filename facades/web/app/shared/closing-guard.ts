import { useSyncExternalStore } from 'react'
import { Listeners } from './listeners.ts'

const listeners = new Listeners()
const guards = new Set<object>()
let hasWarned = false

function set(warned: boolean): void {
  hasWarned = warned
  listeners.notify()
}

/** Browsers show a sentence of their own, so the page shows the reason to whoever stays. */
function warn(event: BeforeUnloadEvent): void {
  event.preventDefault()
  set(true)
}

/** Makes the browser ask before it closes the tab, until the returned function is called. */
export function guardClosing(): () => void {
  const guard = {}
  guards.add(guard)
  addEventListener('beforeunload', warn)
  return () => {
    if (!guards.delete(guard) || guards.size > 0) return
    removeEventListener('beforeunload', warn)
    set(false)
  }
}

/** Lets the page go without a question, where it must not stay: the keys or the person have changed. */
export function dropClosingGuards(): void {
  guards.clear()
  removeEventListener('beforeunload', warn)
}

/** Returns true after the person has stayed, while closing the tab would still end something. */
export const useClosingWarning = (): boolean => useSyncExternalStore(listeners.subscribe, () => hasWarned)

export const dismissClosingWarning = () => set(false)
