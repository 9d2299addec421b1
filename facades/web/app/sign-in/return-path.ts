import { isSignOutPath } from '../../browser/sign-out-path.ts'

/** Goes to another of our pages. The promise never resolves, so no code runs while the page is being left. */
export function go(path: string): Promise<never> {
  // A page restored from the back-forward cache would wait for ever.
  addEventListener('pageshow', ({ persisted }) => persisted && location.reload())
  location.assign(path)
  return new Promise(() => {})
}

/** Goes to the sign-in page, which then leads back to this page. */
export const goToSignIn = (): Promise<never> =>
  go(`/login?ended=1&redirectUri=${encodeURIComponent(location.pathname + location.search)}`)

const RETURN_PATH = 'way on'

/** Remembers the target of the sign-in in this tab, because a consent page address can be too long for the server. */
export function rememberReturnPath(): void {
  rememberFragment()
  const search = new URLSearchParams(location.search)
  const path = toLocalPath(search.get('redirectUri'))
  if (path !== undefined) sessionStorage.setItem(RETURN_PATH, path)
  else if (!search.has('error')) forgetReturnPath()
}

/**
 * Moves the secret of an invitation from the address to this tab, because browsers keep the fragment across redirects.
 */
function rememberFragment(): void {
  if (!location.hash.startsWith('#invitation-')) return
  sessionStorage.setItem('way on fragment', location.hash)
  history.replaceState(history.state, '', location.pathname + location.search)
}

/** Forgets the remembered target. */
const forgetReturnPath = () => sessionStorage.removeItem(RETURN_PATH)

/** Returns the `redirectUri` of the address, or the remembered one, if it is a page of this service. */
export const getReturnPath = () =>
  toLocalPath(new URLSearchParams(location.search).get('redirectUri') ?? sessionStorage.getItem(RETURN_PATH))

/** Returns the target, and forgets it: this page is the last one before it. */
export function takeReturnPath(): string | undefined {
  const path = getReturnPath()
  forgetReturnPath()
  return path
}

function toLocalPath(address: string | null): string | undefined {
  if (!address?.startsWith('/') || !URL.canParse(address, location.origin)) return undefined
  const { origin, pathname, search } = new URL(address, location.origin)
  // Browsers read two slashes as the start of a host.
  const isOwn = origin === location.origin && !pathname.startsWith('//')
  return isOwn && !isSignOutPath(pathname) ? pathname + search : undefined
}
