const STORAGE_KEY = 'way on fragment'

/**
 * Moves the secret of an invitation from the address to the storage of this tab, where it survives a sign-in, before
 * anything else can read the address.
 */
export function storeLinkSecret(): void {
  if (location.pathname !== '/rooms/join' || location.hash === '') return
  sessionStorage.setItem(STORAGE_KEY, location.hash)
  history.replaceState(history.state, '', location.pathname)
}

export const readLinkSecret = (): string | null => sessionStorage.getItem(STORAGE_KEY)

export const forgetLinkSecret = (): void => sessionStorage.removeItem(STORAGE_KEY)
