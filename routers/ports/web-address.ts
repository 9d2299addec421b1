import { z } from 'zod'

/** Returns true if a host, as `URL` has it, is this machine. */
export const isLoopbackHost = (hostname: string): boolean => /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname)

/** Normalizes an address; returns other texts unchanged. */
export const normalizeAddress = (text: string): string => URL.parse(text)?.href ?? text

/** Removes the slash at the end: programs send an origin alone with it, or without. */
export const removeSlash = (address: string): string => address.replace(/\/$/, '')

/** An address that a person enters. It has no credentials, because all who may read it would see them. */
export const webAddress = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  .refine((text) => !hasCredentials(text), 'must have no user name or password in it')

/** An address to which people or secrets are sent: encrypted or local, and with a host that is plainly visible. */
export const secureAddress = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  // Only characters that need no escaping.
  .regex(/^[\x21-\x7e]+$/)
  .refine((text) => {
    const { protocol, hostname = '' } = URL.parse(text) ?? {}
    return protocol === 'https:' || isLoopbackHost(hostname)
  }, 'must begin with https://, or lead to this machine')
  .refine((text) => !hasCredentials(text), 'must have no name and no password')
  .refine((text) => !text.includes('*'), 'must have no *')
  .overwrite(normalizeAddress)

function hasCredentials(text: string): boolean {
  const { username, password } = URL.parse(text) ?? {}
  return Boolean(username || password)
}
