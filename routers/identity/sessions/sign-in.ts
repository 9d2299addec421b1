import { z } from 'zod'
import type { LoginMethod } from '../../../entities/identity/session.ts'
import { findKnownUser, type KnownUser } from '../../../entities/identity/user.sql.ts'
import type { Context } from '../../core/context.ts'
import { type ErrorCode, Problem } from '../../core/problems.ts'
import { openSealed } from '../../core/sealed.ts'
import { about, anyone, browserProcedure, router } from '../../core/trpc.ts'
import {
  type AuthorizationState,
  account,
  type Identity,
  type LoginAttempt,
  type RedirectSource,
} from '../../ports/login.ts'
import type { BrowserSession, SessionSubject } from '../../ports/session.ts'
import { localPath } from '../local-path.ts'
import { toCaller } from '../session-caller.ts'
import { findBrowserId, rememberBrowser } from './known-browser.ts'
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

const PENDING_LOGIN = 'pending login'

/** Sign-in at an OpenID provider. The browser keeps the sealed state during the redirect. */
const redirectLogin = {
  /** Returns the address of the provider. */
  async begin(ctx: BrowserContext, next: string | undefined): Promise<string> {
    const { url, pending } = await (await findSource(ctx)).begin()
    ctx.browser.setLoginState(ctx.services.vault.seal(JSON.stringify({ ...pending, next }), PENDING_LOGIN))
    return url
  },

  async finish(
    ctx: BrowserContext,
    query: string,
  ): Promise<{ identity?: Identity | undefined; next?: string | undefined }> {
    const source = await findSource(ctx)
    const pending = readPendingLogin(ctx)
    // The state is valid for one return only.
    ctx.browser.setLoginState(undefined)
    return pending ? { identity: await source.finish(query, pending), next: pending.next } : {}
  },
}

async function findSource({ services }: BrowserContext): Promise<RedirectSource> {
  const { redirect } = await services.login.sources()
  if (!redirect) throw new Problem('not_found', { detail: 'This service has no sign-in at a provider.' })
  return redirect
}

function readPendingLogin({
  browser,
  services,
}: BrowserContext): (AuthorizationState & { next?: string | undefined }) | undefined {
  if (!browser.loginState) return undefined
  return openSealed(services.vault, browser.loginState, PENDING_LOGIN, pendingLogin)
}

/**
 * Address after the sign-in. During a redirect login it is kept in a cookie of at most 4096 bytes. Our pages keep longer
 * addresses themselves.
 */
const redirectUri = localPath(2048)

const credentials = z.strictObject({
  account: z.string().min(1).max(254, 'must have at most 254 characters'),
  password: z.string().min(1).max(1024, 'must have at most 1024 characters'),
  redirectUri,
})
type Credentials = z.output<typeof credentials>

interface VerifiedLogin {
  /** Undefined if the password is wrong. */
  identity: Identity | undefined
  /** Normalized account name for the throttle and the browser's cookie. */
  account: string
  /** The person as read before the password was verified. */
  before: KnownUser | undefined
}

/** Verifies a password. Only failures count against the account and the address. */
async function verifyPassword(ctx: BrowserContext, typedCredentials: Credentials): Promise<VerifiedLogin> {
  const { password } = await ctx.services.login.sources()
  if (!password) throw new Problem('not_found', { detail: 'This service has no sign-in with a password.' })
  const name = account.safeParse(typedCredentials.account).data ?? typedCredentials.account.toLowerCase()
  const attempt = { account: name, address: ctx.browser.address, browserId: findBrowserId(ctx, name) }
  await consumeAttempt(ctx, attempt)
  const [before] = await ctx.services.sql(findKnownUser, [name])
  if (before) ctx.auditedCall?.setSubject(`user:${before.id}`)
  const identity = await password
    .verify(typedCredentials.account, typedCredentials.password)
    .catch(async (error: unknown) => {
      await ctx.services.login.throttle.refund(attempt)
      throw error
    })
  if (identity) await ctx.services.login.throttle.recordSuccess(attempt)
  return { identity, account: name, before }
}

async function consumeAttempt(ctx: BrowserContext, attempt: LoginAttempt): Promise<void> {
  const allowance = await ctx.services.login.throttle.consume(attempt)
  if (allowance.remaining >= 0) return
  ctx.notes.setRateLimit(allowance)
  throw new Problem('too_many_requests', { detail: 'Too many attempts to sign in. Try again later.' })
}

export const sessionsRouter = router({
  current: anyone
    .meta(about('Read the state of the session: its remaining seconds, and its CSRF token.'))
    .query(({ ctx: { browser, services } }) => {
      if (!browser?.session) return { expired: true as const }
      const { renewedAt, csrfToken } = browser.session
      const left = renewedAt + services.settings.sessionLifetime - Date.now()
      return { expired: false as const, remaining: Math.max(0, Math.floor(left / 1000)), csrfToken }
    }),

  login: browserProcedure.input(credentials).mutation(async ({ ctx, input }) => {
    const { identity, account, before } = await verifyPassword(ctx, input)
    if (!identity) throw createLoginProblem(ctx, 'password')
    const signedIn = await signIn(ctx, identity, { method: 'password', next: input.redirectUri, before })
    rememberBrowser(ctx, account)
    return signedIn
  }),

  /** Returns the provider's address, or signs in at once a user whom the reverse proxy has authenticated. */
  beginLogin: browserProcedure
    .input(z.strictObject({ by: z.enum(['oidc', 'proxy']).optional(), redirectUri }))
    .mutation(async ({ ctx, input: { by: method, redirectUri: next } }) => {
      const { redirect } = await ctx.services.login.sources()
      if (method === 'oidc' || (method === undefined && redirect))
        return { redirectUri: await redirectLogin.begin(ctx, next) }
      return signInThroughProxy(ctx, next)
    }),

  /** `query` is the query string of the redirect from the provider. */
  finishLogin: browserProcedure
    .input(z.strictObject({ query: z.string().max(8192) }))
    .mutation(async ({ ctx, input }) => {
      const { identity, next } = await redirectLogin.finish(ctx, input.query)
      if (!identity) throw createLoginProblem(ctx, 'oidc')
      return signIn(ctx, identity, { method: 'oidc', next })
    }),

  logout: browserProcedure.mutation(({ ctx }) => signOut(ctx)),

  ...ownSessions,
})

async function signInThroughProxy(ctx: BrowserContext, next: string | undefined) {
  const { header } = await ctx.services.login.sources()
  if (!header) throw new Problem('not_found', { detail: 'This service has no sign-in elsewhere.' })
  const identity = ctx.browser.forwardedIdentity()
  if (identity) return signIn(ctx, identity, { method: 'proxy', next })
  if (!header.loginUrl) throw createLoginProblem(ctx, 'proxy')
  const url = new URL(header.loginUrl, ctx.services.settings.baseUrl)
  url.searchParams.set('target', ctx.services.settings.baseUrl + addRedirect('/req/login/proxy', next))
  return { redirectUri: url.href }
}

/** Logs only the login method, because users sometimes type a password into the account field. */
function createLoginProblem(ctx: BrowserContext, method: LoginMethod): Problem {
  ctx.services.log.info({ method, requestId: ctx.requestId }, 'a login was refused')
  return new Problem('login_failed')
}

interface SignInOptions {
  method: LoginMethod
  next: string | undefined
  /** The person as read before the password was verified. */
  before?: KnownUser | undefined
}

/** Starts the session of an authenticated identity: of a known user, or of somebody who must register. */
async function signIn(ctx: BrowserContext, identity: Identity, { method, next, before }: SignInOptions) {
  const matched = await matchIdentity(ctx, identity).catch((error: unknown) => {
    throw isProblem(error, 'login_failed') ? createLoginProblem(ctx, method) : error
  })
  // The person was deleted while the password was verified and must not register again by it.
  if (!matched && before?.username === identity.username) throw createLoginProblem(ctx, method)
  // The session starts only if the password is still the verified one.
  const user =
    matched && (before?.id === matched.id ? { ...matched, passwordChangedAt: before.passwordChangedAt } : matched)
  const subject: SessionSubject = user ? { user } : { registering: identity }
  await ctx.browser.start({ subject, method }).catch((error: unknown) => {
    // The person was deleted or disabled, or their password changed, since they were looked up.
    throw isProblem(error, 'signed_out') ? createLoginProblem(ctx, method) : error
  })
  ctx.callerContext.setCaller(toCaller(subject), 'login')
  ctx.auditedCall?.recordChange({ method })
  ctx.services.log.info({ method, userId: user?.id, requestId: ctx.requestId }, 'a person signed in')
  // What a link leads to is opened with the key in the link, so no passphrase is asked for.
  if (user?.hasKeys && next?.startsWith('/s/')) return { redirectUri: next }
  return { redirectUri: addRedirect(user?.hasKeys ? '/handshake' : '/register', next) }
}

const isProblem = (error: unknown, code: ErrorCode) => error instanceof Problem && error.problem === code

/** Adds the next address to the address of one of our pages. */
const addRedirect = (page: string, next: string | undefined) =>
  next === undefined ? page : `${page}?redirectUri=${encodeURIComponent(next)}`
