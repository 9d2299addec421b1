import { z } from 'zod'

/** The longest address that a page sends. */
const MAX_INPUT = 16_384

/** Accepts an address to go on to. It becomes undefined if it is foreign or longer than a maximum. */
export const localPath = (maxLength = MAX_INPUT) =>
  z
    .string()
    .max(MAX_INPUT)
    .optional()
    .transform((text) => (text === undefined || text.length > maxLength ? undefined : toLocalPath(text)))

/** Base for parsing; never requested. */
const PLACEHOLDER_ORIGIN = 'http://here.invalid'

/** Returns the path if the address is local and no browser could take it for a foreign one. */
function toLocalPath(text: string): string | undefined {
  if (!text.startsWith('/') || /[\\\p{Cc}]/u.test(text) || !URL.canParse(text, PLACEHOLDER_ORIGIN)) return undefined
  const { origin, pathname, search, hash } = new URL(text, PLACEHOLDER_ORIGIN)
  // `/..//host` normalizes to a path with two leading slashes.
  return origin === PLACEHOLDER_ORIGIN && !pathname.startsWith('//') ? pathname + search + hash : undefined
}
