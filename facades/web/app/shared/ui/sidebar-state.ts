import { createContext, useContext, useSyncExternalStore } from 'react'

interface SidebarState {
  /** Whether it lies over a narrow page. */
  isOpen: boolean
  setOpen: (isOpen: boolean) => void
}

export const SidebarContext = createContext<SidebarState>({ isOpen: false, setOpen: () => {} })

export const useSidebar = () => useContext(SidebarContext)

const narrow = matchMedia('(max-width: 48rem)')

const subscribe = (listener: () => void) => {
  narrow.addEventListener('change', listener)
  return () => narrow.removeEventListener('change', listener)
}

/** Whether there is no room for two columns. */
export const useIsNarrow = (): boolean => useSyncExternalStore(subscribe, () => narrow.matches)
