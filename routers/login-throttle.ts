import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import type { Allowance, RateLimiter } from './rate-limit.ts'

export interface LoginLimits {
  /** Tries for one account in a window, wherever they come from. */
  perAccount: number
  /** Tries from one address in a window, whatever the account. */
  perAddress: number
  windowSeconds: number
}

export interface LoginThrottle {
  /** Counts a try before it is made. Refused where `remaining` is negative, for `resetSeconds`. */
  take(account: string, address: string): Promise<Allowance>
  /** Forgets the tries for an account that has signed in; those of the address stay. */
  clear(account: string): Promise<void>
}

/** `account` as the schema of the login sources spells it. */
export function createLoginThrottle(limiter: RateLimiter, limits: LoginLimits): LoginThrottle {
  const { perAccount, perAddress, windowSeconds } = limits
  return {
    async take(account, address) {
      const byAddress = await limiter.take(addressKey(address), perAddress, windowSeconds)
      // An address that is shut out cannot shut out accounts any more.
      if (byAddress.remaining < 0) return byAddress
      const byAccount = await limiter.take(accountKey(account), perAccount, windowSeconds)
      return byAccount.remaining < byAddress.remaining ? byAccount : byAddress
    },
    clear: (account) => limiter.clear(accountKey(account), perAccount, windowSeconds),
  }
}

/** No username can be read in the store. */
const accountKey = (account: string) => `login:account:${digest(account)}`

const addressKey = (address: string) => `login:address:${digest(networkOf(address))}`

const digest = (text: string) => createHash('sha256').update(text).digest('base64url')

/** One person has a whole IPv6 network of 64 bits to choose addresses from. */
function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString()
}
