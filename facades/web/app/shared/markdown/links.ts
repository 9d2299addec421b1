/** Where a link leads: an address that may be opened, with what is shown of it; undefined where it is none. */
export interface Target {
  href: string
  /** The host, or the address of a mail. */
  host: string
  /** Whether it is to be asked about before it is opened: its words name another place, or it carries much along. */
  isSuspicious: boolean
}

/** Longer questions can carry away what a conversation holds. */
const MAX_QUERY = 80

export function targetOf(href: string, words: string): Target | undefined {
  if (!URL.canParse(href)) return undefined
  const url = new URL(href)
  if (url.protocol === 'mailto:') return { href: `mailto:${url.pathname}`, host: url.pathname, isSuspicious: false }
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') return undefined
  const isLong = url.search.length + url.hash.length > MAX_QUERY || url.pathname.length > 2 * MAX_QUERY
  return { href: url.href, host: url.host, isSuspicious: isLong || namesAnother(words, url.host) }
}

/** Whether words look like the address of another host. */
function namesAnother(words: string, host: string): boolean {
  const named = /(?:^|[\s/@])((?:[\p{L}\p{N}-]+\.)+\p{L}{2,})/u.exec(words.trim())?.[1]?.toLowerCase()
  return named !== undefined && named !== host && `www.${named}` !== host && named !== `www.${host}`
}

/** Only rasters that lie in the text itself are shown as pictures. */
export const isOwnPicture = (href: string): boolean =>
  /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[\w+/=]+$/.test(href)

export const hostOf = (href: string): string => (URL.canParse(href) ? new URL(href).host : '')
