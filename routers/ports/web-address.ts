import { z } from 'zod'

const loopback = /^(localhost|127\.0\.0\.1|\[::1\])$/

/** The one spelling of an address; a text that is none stays as it is. */
export const normalizeAddress = (text: string): string => URL.parse(text)?.href ?? text

/** Where people, or secrets, are sent: encrypted or within this machine, and to one host that everybody sees. */
export const webAddress = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  // What stands in an address without being escaped.
  .regex(/^[\x21-\x7e]+$/)
  .refine((text) => {
    const { protocol, hostname = '' } = URL.parse(text) ?? {}
    return protocol === 'https:' || loopback.test(hostname)
  }, 'must begin with https://, or lead to this machine')
  .refine((text) => {
    const { username, password } = URL.parse(text) ?? {}
    return !username && !password
  }, 'must have no name and no password')
  .refine((text) => !text.includes('*'), 'must have no *')
  .overwrite(normalizeAddress)
