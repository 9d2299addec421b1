import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import type { LoginAttempt, LoginThrottle } from '../../ports/login.ts'
import type { RateLimiter, RateLimitStatus } from '../../ports/rate-limiter.ts'

export interface LoginLimits {
  /** Failed attempts on one account in a window, wherever they come from. */
  perAccount: number
  /** Failed attempts from one address in a window, whatever the account. */
  perAddress: number
  windowSeconds: number
}

export function createLoginThrottle(limiter: RateLimiter, limits: LoginLimits): LoginThrottle {
  const { perAccount, perAddress, windowSeconds } = limits

  async function takeStranger({ account, address }: LoginAttempt): Promise<RateLimitStatus> {
    const byAddress = await limiter.consume(addressKey(address), perAddress, windowSeconds)
    // An address that is shut out cannot shut out accounts any more.
    if (byAddress.remaining < 0) return byAddress
    const byAccount = await limiter.consume(accountKey(account), perAccount, windowSeconds)
    return byAccount.remaining < byAddress.remaining ? byAccount : byAddress
  }

  /** A browser that signed in before is not counted by its address. */
  async function giveBackAddress({ address, browserId }: LoginAttempt): Promise<void> {
    if (browserId === undefined) await limiter.refund(addressKey(address), perAddress, windowSeconds)
  }

  return {
    consume: (attempt) =>
      attempt.browserId === undefined
        ? takeStranger(attempt)
        : limiter.consume(toCount(attempt), perAccount, windowSeconds),
    async refund(attempt) {
      await Promise.all([limiter.refund(toCount(attempt), perAccount, windowSeconds), giveBackAddress(attempt)])
    },
    async recordSuccess(attempt) {
      await Promise.all([limiter.clear(toCount(attempt), perAccount, windowSeconds), giveBackAddress(attempt)])
    },
  }
}

const toCount = ({ account, browserId }: LoginAttempt) =>
  browserId === undefined ? accountKey(account) : `login:browser:${digest(`${browserId} ${account}`)}`

/** No username can be read in the store. */
const accountKey = (account: string) => `login:account:${digest(account)}`

const addressKey = (address: string) => `login:address:${digest(toNetwork(address))}`

const digest = (text: string) => createHash('sha256').update(text).digest('base64url')

/** One person has a whole IPv6 network of 64 bits to choose addresses from. */
function toNetwork(address: string): string {
  if (!ipaddr.isValid(address)) return address
  const parsed = ipaddr.process(address)
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString()
}
