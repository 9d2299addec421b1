const STORAGE_KEY = 'way on fragment'

/**
 * Takes the secret of an invitation out of the address before anything else runs, and keeps it in this tab, also while somebody
 * signs in.
 */
export function storeLinkSecret(): void {
  if (location.pathname !== '/rooms/join' || location.hash === '') return
  sessionStorage.setItem(STORAGE_KEY, location.hash)
  history.replaceState(history.state, '', location.pathname)
}

export const readLinkSecret = (): string | null => sessionStorage.getItem(STORAGE_KEY)

export const forgetLinkSecret = (): void => sessionStorage.removeItem(STORAGE_KEY)
