import type { Settings } from '../core/settings.ts'

const MAX_ADDRESS = 1000

/** A loopback address: its host, its port, and the rest. */
const loopbackPattern = /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::(\d{1,5}))?((?:[/?].*)?)$/

/** Private addresses of well-known programs. */
const knownAddresses = ['cursor://anysphere.cursor-mcp/oauth/callback']

/**
 * Returns true if programs may have people sent there: to this computer, to a site over https, or to a private address that
 * is known. A fragment could hide the code from the program, and spaces or control characters are read differently.
 */
export function isAcceptableRedirect(address: string, { redirects }: Settings['oauth']): boolean {
  if (address.length > MAX_ADDRESS || !/^[\x21-\x7e]+$/.test(address) || /[#\\]/.test(address)) return false
  if (knownAddresses.includes(address) || redirects.includes(address)) return true
  const url = URL.parse(address)
  if (!url || url.username || url.password) return false
  return url.protocol === 'https:' ? address.startsWith('https://') : loopbackPattern.test(address)
}

/** Compares addresses as strings, but for the port of a loopback address, which a program chooses when it starts. */
export const isSameRedirect = (registered: string, requested: string): boolean =>
  registered === requested || (isLoopback(requested) && withoutPort(registered) === withoutPort(requested))

const withoutPort = (address: string) => address.replace(loopbackPattern, 'http://$1$3')

const isLoopback = (address: string) => {
  const port = loopbackPattern.exec(address)?.[2]
  return loopbackPattern.test(address) && URL.canParse(address) && port !== '0'
}

/** The target of a code, in words that a person knows. */
export type RedirectTarget =
  | { type: 'this computer' }
  | { type: 'site'; host: string }
  /** A program that the operating system opens for this scheme. */
  | { type: 'program'; scheme: string }

export function describeRedirect(address: string): RedirectTarget {
  if (loopbackPattern.test(address)) return { type: 'this computer' }
  const { protocol, host } = new URL(address)
  return protocol === 'https:' ? { type: 'site', host } : { type: 'program', scheme: protocol.slice(0, -1) }
}

/** Adds parameters to the query of an address; those without a value are left out. */
export function addParameters(address: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const entries = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return `${address}${address.includes('?') ? '&' : '?'}${new URLSearchParams(entries)}`
}
