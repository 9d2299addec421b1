/** Only read, never asked. */
const here = 'http://here.invalid'

/** During a sign-in elsewhere it is kept in a cookie, which has no more than 4096. Our pages keep longer ways themselves. */
const MAX_CHARACTERS = 2048

/** An address to go on to, as long as it is one of ours; nothing that a browser could take for somebody else's. */
export function localRedirect(text: string | undefined): string | undefined {
  if (!text?.startsWith('/') || text.length > MAX_CHARACTERS || /[\\\p{Cc}]/u.test(text) || !URL.canParse(text, here))
    return undefined
  const { origin, pathname, search, hash } = new URL(text, here)
  // What is left of `/..//host` begins with two slashes again.
  return origin === here && !pathname.startsWith('//') ? pathname + search + hash : undefined
}

/** An address of a page of ours that then goes on to another one. */
export const withRedirect = (page: string, next: string | undefined) =>
  next === undefined ? page : `${page}?redirectUri=${encodeURIComponent(next)}`
