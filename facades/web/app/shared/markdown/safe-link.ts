import { isSignOutPath } from '../../../browser/sign-out-path.ts'

/** A link that may be opened. */
export interface SafeLink {
  href: string
  /** The host, or the e-mail address of a `mailto:` link. */
  host: string
  /**
   * True if the person must confirm first: the words name another host, or the URL is long enough to carry data away.
   */
  isSuspicious: boolean
}

/** Longer queries could send parts of the conversation to the host. */
const MAX_QUERY = 80

/** Parses the address of a link with these words; undefined if it may not be opened. */
export function parseSafeLink(href: string, words: string, ownOrigin: string): SafeLink | undefined {
  if (!URL.canParse(href)) return undefined
  const url = new URL(href)
  if (url.protocol === 'mailto:') return { href: `mailto:${url.pathname}`, host: url.pathname, isSuspicious: false }
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') return undefined
  // A link that somebody else wrote asks before it signs out, as one of another site does.
  if (url.origin === ownOrigin && isSignOutPath(url.pathname)) url.search = '?ask'
  const isLong = url.search.length + url.hash.length > MAX_QUERY || url.pathname.length > 2 * MAX_QUERY
  return { href: url.href, host: url.host, isSuspicious: isLong || hasOtherHost(words, url.host) }
}

/** Returns true if the words look like the address of another host, without what nobody sees of them. */
function hasOtherHost(words: string, host: string): boolean {
  const named = /(?:^|[\s/@])((?:[\p{L}\p{N}-]+\.)+\p{L}{2,})/u
    .exec(words.replace(/\p{Default_Ignorable_Code_Point}/gu, '').trim())?.[1]
    ?.toLowerCase()
  return named !== undefined && named !== host && `www.${named}` !== host && named !== `www.${host}`
}

/** Returns true for raster images in `data:` URLs, the only pictures that are shown. */
export const isDataImage = (href: string): boolean =>
  /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[\w+/=]+$/.test(href)

export const getHost = (href: string): string => (URL.canParse(href) ? new URL(href).host : '')
