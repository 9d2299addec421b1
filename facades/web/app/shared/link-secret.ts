const SLOT = 'way on fragment'

/**
 * Takes the secret of an invitation out of the address before anything else runs, and keeps it in this tab, also while somebody
 * signs in.
 */
export function keepLinkSecret(): void {
  if (location.pathname !== '/rooms/join' || location.hash === '') return
  sessionStorage.setItem(SLOT, location.hash)
  history.replaceState(history.state, '', location.pathname)
}

export const linkSecret = (): string | null => sessionStorage.getItem(SLOT)

export const forgetLinkSecret = (): void => sessionStorage.removeItem(SLOT)
