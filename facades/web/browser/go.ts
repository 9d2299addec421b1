/** Leaves the page for another one of ours; what waits for this waits until the page is gone. */
export function go(path: string): Promise<never> {
  // A page that is shown again would still wait.
  addEventListener('pageshow', ({ persisted }) => persisted && location.reload())
  location.assign(path)
  return new Promise(() => {})
}

/** To the sign-in page, and from there back to this one. */
export const signInAgain = () => go(`/login?ended=1&redirectUri=${encodeURIComponent(location.pathname)}`)

/** Where the address of this page says to go on; only to pages of ours. */
export function wayOn(): string | undefined {
  const wish = new URLSearchParams(location.search).get('redirectUri')
  if (!wish?.startsWith('/') || !URL.canParse(wish, location.origin)) return undefined
  const { origin, pathname, search } = new URL(wish, location.origin)
  return origin === location.origin ? pathname + search : undefined
}
