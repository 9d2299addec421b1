import { createHash } from 'node:crypto'
import { toClientNetwork } from '../../core/load/client-network.ts'
import type { LoginAttempt, LoginThrottle } from '../../ports/login.ts'
import type { RateLimiter, RateLimitStatus } from '../../ports/rate-limiter.ts'

export interface LoginLimits {
  /** Failed attempts on one account per window, from any address. */
  perAccount: number
  /** Failed attempts from one address per window, on any account. */
  perAddress: number
  windowSeconds: number
}

export function createLoginThrottle(limiter: RateLimiter, limits: LoginLimits): LoginThrottle {
  const { perAccount, perAddress, windowSeconds } = limits

  async function consumeByAddressAndAccount({ account, address }: LoginAttempt): Promise<RateLimitStatus> {
    const byAddress = await limiter.consume(buildAddressKey(address), perAddress, windowSeconds)
    // A blocked address must not block accounts as well.
    if (byAddress.remaining < 0) return byAddress
    const byAccount = await limiter.consume(buildAccountKey(account), perAccount, windowSeconds)
    return byAccount.remaining < byAddress.remaining ? byAccount : byAddress
  }

  /** Known browsers are not counted by address. */
  async function refundAddress({ address, browserId }: LoginAttempt): Promise<void> {
    if (browserId === undefined) await limiter.refund(buildAddressKey(address), perAddress, windowSeconds)
  }

  return {
    consume: (attempt) =>
      attempt.browserId === undefined
        ? consumeByAddressAndAccount(attempt)
        : limiter.consume(buildAttemptKey(attempt), perAccount, windowSeconds),
    async refund(attempt) {
      await Promise.all([limiter.refund(buildAttemptKey(attempt), perAccount, windowSeconds), refundAddress(attempt)])
    },
    async recordSuccess(attempt) {
      await Promise.all([limiter.clear(buildAttemptKey(attempt), perAccount, windowSeconds), refundAddress(attempt)])
    },
  }
}

const buildAttemptKey = ({ account, browserId }: LoginAttempt) =>
  browserId === undefined ? buildAccountKey(account) : `login:browser:${hashText(`${browserId} ${account}`)}`

/** Hashes the account, so that the store contains no usernames. */
const buildAccountKey = (account: string) => `login:account:${hashText(account)}`

const buildAddressKey = (address: string) => `login:address:${hashText(toClientNetwork(address))}`

const hashText = (text: string) => createHash('sha256').update(text).digest('base64url')
