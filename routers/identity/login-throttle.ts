import { createHash } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import type { Allowance, RateLimiter } from '../core/rate-limit.ts'

export interface LoginLimits {
  /** Failed attempts on one account in a window, wherever they come from. */
  perAccount: number
  /** Failed attempts from one address in a window, whatever the account. */
  perAddress: number
  windowSeconds: number
}

export interface LoginAttempt {
  /** As the schema of the login sources spells it. */
  account: string
  address: string
  /** Set where the account signed in before in this browser, which then has a count of its own: others cannot lock it. */
  browserId?: string | undefined
}

export interface LoginThrottle {
  /** Counts an attempt before it is made, so that no more are made at once. Refused where `remaining` is negative. */
  take(attempt: LoginAttempt): Promise<Allowance>
  /** Uncounts an attempt on which no source gave an opinion. */
  giveBack(attempt: LoginAttempt): Promise<void>
  /** Uncounts an attempt that was right, and forgets the failures on its account. */
  succeed(attempt: LoginAttempt): Promise<void>
}

export function createLoginThrottle(limiter: RateLimiter, limits: LoginLimits): LoginThrottle {
  const { perAccount, perAddress, windowSeconds } = limits

  async function takeStranger({ account, address }: LoginAttempt): Promise<Allowance> {
    const byAddress = await limiter.take(addressKey(address), perAddress, windowSeconds)
    // An address that is shut out cannot shut out accounts any more.
    if (byAddress.remaining < 0) return byAddress
    const byAccount = await limiter.take(accountKey(account), perAccount, windowSeconds)
    return byAccount.remaining < byAddress.remaining ? byAccount : byAddress
  }

  return {
    take: (attempt) =>
      attempt.browserId === undefined
        ? takeStranger(attempt)
        : limiter.take(countOf(attempt), perAccount, windowSeconds),
    async giveBack(attempt) {
      await limiter.giveBack(countOf(attempt), perAccount, windowSeconds)
      if (attempt.browserId === undefined)
        await limiter.giveBack(addressKey(attempt.address), perAddress, windowSeconds)
    },
    async succeed(attempt) {
      await limiter.clear(countOf(attempt), perAccount, windowSeconds)
      if (attempt.browserId === undefined)
        await limiter.giveBack(addressKey(attempt.address), perAddress, windowSeconds)
    },
  }
}

const countOf = ({ account, browserId }: LoginAttempt) =>
  browserId === undefined ? accountKey(account) : `login:browser:${digest(`${browserId} ${account}`)}`

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
