import { z } from 'zod'
import { findKnownUser, type KnownUser } from '../../../entities/identity/user.sql.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import type { LoginAttempt } from '../../ports/login.ts'
import { account, type Identity } from '../../ports/login.ts'
import type { BrowserSession } from '../../ports/session.ts'
import { browserIdFor } from './known-browser.ts'
import { localRedirect } from './safe-redirect.ts'

type BrowserContext = Context & { browser: BrowserSession }

/** Where to go on after signing in; anything but an address of ours is left out. */
export const redirectUri = z.string().max(16_384).optional().transform(localRedirect)

export const credentials = z.strictObject({
  account: z.string().min(1).max(254, 'must have at most 254 characters'),
  password: z.string().min(1).max(1024, 'must have at most 1024 characters'),
  redirectUri,
})
type Credentials = z.output<typeof credentials>

interface Verified {
  /** Undefined where the password is wrong. */
  identity: Identity | undefined
  /** The spelling of the account that is counted and remembered. */
  account: string
  /** The person as they were before their password was compared. */
  before: KnownUser | undefined
}

/** Compares a password; only failures count against the account and the address. */
export async function verifyPassword(ctx: BrowserContext, typed: Credentials): Promise<Verified> {
  const { password } = await ctx.services.loginSources()
  if (!password) throw new Problem('not_found', { detail: 'Nobody signs in with a password here.' })
  const name = account.safeParse(typed.account).data ?? typed.account.toLowerCase()
  const attempt = { account: name, address: ctx.browser.address, browserId: browserIdFor(ctx, name) }
  await take(ctx, attempt)
  const [before] = await ctx.services.sql(findKnownUser, [name])
  const identity = await password.verify(typed.account, typed.password).catch(async (error: unknown) => {
    await ctx.services.loginThrottle.giveBack(attempt)
    throw error
  })
  if (identity) await ctx.services.loginThrottle.succeed(attempt)
  return { identity, account: name, before }
}

async function take(ctx: BrowserContext, attempt: LoginAttempt): Promise<void> {
  const allowance = await ctx.services.loginThrottle.take(attempt)
  if (allowance.remaining >= 0) return
  ctx.hints.rateLimit = allowance
  throw new Problem('too_many_requests', { detail: 'Too many tries to sign in. Try again later.' })
}
