/** Goes to another of our pages. The promise never resolves, so no code runs while the page is being left. */
export function go(path: string): Promise<never> {
  // A page restored from the back-forward cache would wait for ever.
  addEventListener('pageshow', ({ persisted }) => persisted && location.reload())
  location.assign(path)
  return new Promise(() => {})
}

/** Goes to the sign-in page, which then leads back to this page. */
export const signInAgain = () =>
  go(`/login?ended=1&redirectUri=${encodeURIComponent(location.pathname + location.search)}`)

/** The `redirectUri` of this page's address, if it leads to a page of this service. */
export function wayOn(): string | undefined {
  const wish = new URLSearchParams(location.search).get('redirectUri')
  if (!wish?.startsWith('/') || !URL.canParse(wish, location.origin)) return undefined
  const { origin, pathname, search } = new URL(wish, location.origin)
  return origin === location.origin ? pathname + search : undefined
}
