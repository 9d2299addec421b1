import { createContext, useContext, useSyncExternalStore } from 'react'

interface SidebarState {
  /** True while the drawer is open on a narrow screen. */
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

/** Returns true if the screen is too narrow for the sidebar. */
export const useIsNarrow = (): boolean => useSyncExternalStore(subscribe, () => narrow.matches)
