import { z } from 'zod'
import type { LoginMethod } from '../../../entities/identity/session.ts'
import { findKnownUser, type KnownUser } from '../../../entities/identity/user.sql.ts'
import type { Context } from '../../core/context.ts'
import { type ErrorCode, Problem } from '../../core/problems.ts'
import { about, anyone, browserProcedure, router } from '../../core/trpc.ts'
import {
  type AuthorizationState,
  account,
  type Identity,
  type LoginAttempt,
  type RedirectSource,
} from '../../ports/login.ts'
import type { BrowserSession, SessionSubject } from '../../ports/session.ts'
import { toCaller } from '../session-caller.ts'
import { browserIdFor, rememberBrowser } from './known-browser.ts'
import { matchIdentity } from './match-identity.ts'
import { ownSessions, signOut } from './own-sessions.ts'

type BrowserContext = Context & { browser: BrowserSession }

const pendingLogin = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  until: z.number(),
  next: z.string().optional(),
})

const PENDING = 'pending login'

/** Signing in at a provider: what must outlast the way there and back is kept, sealed, by the browser. */
const redirectLogin = {
  /** The address of the provider. */
  async begin(ctx: BrowserContext, next: string | undefined): Promise<string> {
    const { url, pending } = await (await findSource(ctx)).begin()
    ctx.browser.setLoginState(ctx.services.vault.seal(JSON.stringify({ ...pending, next }), PENDING))
    return url
  },

  async finish(
    ctx: BrowserContext,
    query: string,
  ): Promise<{ identity?: Identity | undefined; next?: string | undefined }> {
    const source = await findSource(ctx)
    const pending = read(ctx)
    // Good for one return, however it ends.
    ctx.browser.setLoginState(undefined)
    return pending ? { identity: await source.finish(query, pending), next: pending.next } : {}
  },
}

async function findSource({ services }: BrowserContext): Promise<RedirectSource> {
  const { redirect } = await services.loginSources()
  if (!redirect) throw new Problem('not_found', { detail: 'Nobody signs in at a provider here.' })
  return redirect
}

function read({ browser, services }: BrowserContext): (AuthorizationState & { next?: string | undefined }) | undefined {
  if (!browser.loginState) return undefined
  try {
    return pendingLogin.parse(JSON.parse(services.vault.open(browser.loginState, PENDING)))
  } catch {
    return undefined
  }
}

/** Where to go on after signing in; anything but an address of ours is left out. */
const redirectUri = z.string().max(16_384).optional().transform(localRedirect)

const credentials = z.strictObject({
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
async function verifyPassword(ctx: BrowserContext, typed: Credentials): Promise<Verified> {
  const { password } = await ctx.services.loginSources()
  if (!password) throw new Problem('not_found', { detail: 'Nobody signs in with a password here.' })
  const name = account.safeParse(typed.account).data ?? typed.account.toLowerCase()
  const attempt = { account: name, address: ctx.browser.address, browserId: browserIdFor(ctx, name) }
  await take(ctx, attempt)
  const [before] = await ctx.services.sql(findKnownUser, [name])
  if (before) ctx.auditedCall?.setSubject(`user:${before.id}`)
  const identity = await password.verify(typed.account, typed.password).catch(async (error: unknown) => {
    await ctx.services.loginThrottle.refund(attempt)
    throw error
  })
  if (identity) await ctx.services.loginThrottle.recordSuccess(attempt)
  return { identity, account: name, before }
}

async function take(ctx: BrowserContext, attempt: LoginAttempt): Promise<void> {
  const allowance = await ctx.services.loginThrottle.consume(attempt)
  if (allowance.remaining >= 0) return
  ctx.hints.rateLimit = allowance
  throw new Problem('too_many_requests', { detail: 'Too many tries to sign in. Try again later.' })
}

export const sessionsRouter = router({
  current: anyone
    .meta(about('Ask whether there is a session, for how many seconds, and for its CSRF token.'))
    .query(({ ctx: { browser, services } }) => {
      if (!browser?.session) return { expired: true as const }
      const { renewedAt, csrfToken } = browser.session
      const left = renewedAt + services.settings.sessionLifetime - Date.now()
      return { expired: false as const, remaining: Math.max(0, Math.floor(left / 1000)), csrfToken }
    }),

  login: browserProcedure.input(credentials).mutation(async ({ ctx, input }) => {
    const { identity, account, before } = await verifyPassword(ctx, input)
    if (!identity) throw loginRefused(ctx, 'password')
    const signedIn = await signIn(ctx, identity, { method: 'password', next: input.redirectUri, before })
    rememberBrowser(ctx, account)
    return signedIn
  }),

  /** Where to sign in elsewhere; whom the reverse proxy in front has signed in already is in at once. */
  beginLogin: browserProcedure
    .input(z.strictObject({ by: z.enum(['oidc', 'proxy']).optional(), redirectUri }))
    .mutation(async ({ ctx, input: { by, redirectUri: next } }) => {
      const { redirect } = await ctx.services.loginSources()
      if (by === 'oidc' || (by === undefined && redirect)) return { redirectUri: await redirectLogin.begin(ctx, next) }
      return throughProxy(ctx, next)
    }),

  /** `query` is what stands behind the `?` of the address that the provider sent the browser back to. */
  finishLogin: browserProcedure
    .input(z.strictObject({ query: z.string().max(8192) }))
    .mutation(async ({ ctx, input }) => {
      const { identity, next } = await redirectLogin.finish(ctx, input.query)
      if (!identity) throw loginRefused(ctx, 'oidc')
      return signIn(ctx, identity, { method: 'oidc', next })
    }),

  logout: browserProcedure.mutation(({ ctx }) => signOut(ctx)),

  ...ownSessions,
})

async function throughProxy(ctx: BrowserContext, next: string | undefined) {
  const { header } = await ctx.services.loginSources()
  if (!header) throw new Problem('not_found', { detail: 'Nobody signs in elsewhere here.' })
  const identity = ctx.browser.forwardedIdentity()
  if (identity) return signIn(ctx, identity, { method: 'proxy', next })
  if (!header.loginUrl) throw loginRefused(ctx, 'proxy')
  const url = new URL(header.loginUrl, ctx.services.settings.baseUrl)
  url.searchParams.set('target', ctx.services.settings.baseUrl + withRedirect('/req/login/proxy', next))
  return { redirectUri: url.href }
}

/** Of a refusal only how it was tried is told: an account may be somebody's password in the wrong field. */
function loginRefused(ctx: BrowserContext, method: LoginMethod): Problem {
  ctx.services.log.info({ method, requestId: ctx.requestId }, 'a login was refused')
  return new Problem('login_failed')
}

interface Entry {
  method: LoginMethod
  next: string | undefined
  /** The person as they were before their password was compared. */
  before?: KnownUser | undefined
}

/** Starts the session of somebody whom a source has told of: a person we know, or who is to register. */
async function signIn(ctx: BrowserContext, identity: Identity, { method, next, before }: Entry) {
  const matched = await matchIdentity(ctx, identity).catch((error: unknown) => {
    throw isProblem(error, 'login_failed') ? loginRefused(ctx, method) : error
  })
  // Somebody removed the person while their password was compared: nobody begins anew by it.
  if (!matched && before?.username === identity.username) throw loginRefused(ctx, method)
  // A session starts only where the password is the one that was compared.
  const known =
    matched && (before?.id === matched.id ? { ...matched, passwordChangedAt: before.passwordChangedAt } : matched)
  const subject: SessionSubject = known ? { user: known } : { registering: identity }
  await ctx.browser.start({ subject, method }).catch((error: unknown) => {
    // The person was removed or disabled, or got another password, since they were looked up.
    throw isProblem(error, 'signed_out') ? loginRefused(ctx, method) : error
  })
  ctx.callerContext.setCaller(toCaller(subject), 'login')
  ctx.auditedCall?.recordChange({ method })
  ctx.services.log.info({ method, userId: known?.id, requestId: ctx.requestId }, 'signed in')
  return { redirectUri: withRedirect(known?.hasKeys ? '/handshake' : '/register', next) }
}

const isProblem = (error: unknown, code: ErrorCode) => error instanceof Problem && error.problem === code

/** Only read, never asked. */
const here = 'http://here.invalid'

/** During a sign-in elsewhere it is kept in a cookie, which has no more than 4096. Our pages keep longer ways themselves. */
const MAX_CHARACTERS = 2048

/** An address to go on to, as long as it is one of ours; nothing that a browser could take for somebody else's. */
function localRedirect(text: string | undefined): string | undefined {
  if (!text?.startsWith('/') || text.length > MAX_CHARACTERS || /[\\\p{Cc}]/u.test(text) || !URL.canParse(text, here))
    return undefined
  const { origin, pathname, search, hash } = new URL(text, here)
  // What is left of `/..//host` begins with two slashes again.
  return origin === here && !pathname.startsWith('//') ? pathname + search + hash : undefined
}

/** An address of a page of ours that then goes on to another one. */
const withRedirect = (page: string, next: string | undefined) =>
  next === undefined ? page : `${page}?redirectUri=${encodeURIComponent(next)}`
