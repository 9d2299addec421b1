import { z } from 'zod'
import type { LoginMethod } from '../../../entities/identity/session.ts'
import type { KnownUser } from '../../../entities/identity/user.sql.ts'
import type { Context } from '../../core/context.ts'
import { type ErrorCode, Problem } from '../../core/problems.ts'
import { about, anyone, browserProcedure, router } from '../../core/trpc.ts'
import type { Identity } from '../../ports/login.ts'
import type { BrowserSession, SessionSubject } from '../../ports/session.ts'
import { toCaller } from '../session-caller.ts'
import { rememberBrowser } from './known-browser.ts'
import { matchIdentity } from './match-identity.ts'
import { redirectLogin } from './oidc-login.ts'
import { ownSessions } from './own-sessions.ts'
import { credentials, redirectUri, verifyPassword } from './password-login.ts'
import { withRedirect } from './safe-redirect.ts'
import { signOut } from './sign-out.ts'

type BrowserContext = Context & { browser: BrowserSession }

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
  ctx.callerContext.become(toCaller(subject), 'login')
  ctx.services.log.info({ method, userId: known?.id, requestId: ctx.requestId }, 'signed in')
  return { redirectUri: withRedirect(known?.hasKeys ? '/handshake' : '/register', next) }
}

const isProblem = (error: unknown, code: ErrorCode) => error instanceof Problem && error.problem === code
