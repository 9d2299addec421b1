import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { readIssues } from '../../routers/core/issues.ts'
import { isAccountProblem } from '../../routers/core/problems.ts'
import { type Api, createCaller } from '../../routers/index.ts'
import {
  type Failure,
  type FieldErrors,
  logServerFailure,
  startErrorResponse,
  toFailure,
  toFieldErrors,
} from '../http/failure.ts'
import { registerForms } from '../http/forms.ts'
import { isNavigation, isPreferred } from '../http/negotiation.ts'
import { type ContextResolver, type FacadeOptions, procedureRoute } from '../http/procedures.ts'
import { readSearch } from '../http/request-url.ts'
import { sendFile } from '../http/send-file.ts'

/** Registers the requests of the pages outside the JSON:API. */
export async function webActions(app: FastifyInstance, options: WebActionOptions) {
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'))
  await registerForms(app)
  for (const part of [login, session, invitation, keys, tokens, language]) await app.register(part, options)
}

type FirstKeys = Parameters<Api['registration']['complete']>[0]
type Rewrap = Parameters<Api['keychain']['rewrap']>[0]

/** Registers the routes to create and recover keys, and to fetch a data export. */
async function keys(app: FastifyInstance, options: WebActionOptions) {
  const { resolveContext } = options
  app.setErrorHandler(createErrorHandler((refusal) => refusal))

  app.post<{ Body: FirstKeys }>(
    '/handshake',
    procedureRoute('registration.complete', options),
    async (request, reply) => {
      const ctx = await resolveContext(request, reply)
      const { redirectUri } = await createCaller(ctx).registration.complete(request.body)
      setCsrfToken(ctx, reply)
      return { success: true, redirectUri }
    },
  )

  app.get('/req/profile/passkey-backup', procedureRoute('passkey.backup', options), async (request, reply) => {
    const api = createCaller(await resolveContext(request, reply))
    return { success: true, passkeyBackup: await api.passkey.backup() }
  })

  app.get('/req/profile/keychain-form', procedureRoute('keychain.form', options), async (request, reply) => {
    const api = createCaller(await resolveContext(request, reply))
    return { success: true, ...(await api.keychain.form()) }
  })

  app.post<{ Body: Rewrap }>(
    '/req/profile/rewrap-keychain',
    procedureRoute('keychain.rewrap', options),
    async (request, reply) => {
      await createCaller(await resolveContext(request, reply)).keychain.rewrap(request.body)
      return { success: true }
    },
  )

  app.get<{ Params: { exportId: string } }>(
    '/req/profile/export/:exportId',
    procedureRoute('personExports.download', options),
    async (request, reply) => {
      const { exportId } = request.params
      const { personExports } = createCaller(await resolveContext(request, reply))
      return sendFile(request, reply, await personExports.download({ exportId }))
    },
  )

  app.post('/req/profile/reset', procedureRoute('passkey.reset', options), async (request, reply) => {
    const ctx = await resolveContext(request, reply)
    const { redirectUri } = await createCaller(ctx).passkey.reset()
    setCsrfToken(ctx, reply)
    return { success: true, redirectUri }
  })
}

type AcceptedInvitation = Parameters<Api['accountInvitations']['accept']>[0]

/** Registers the routes for invited people to set their password. */
async function invitation(app: FastifyInstance, options: WebActionOptions) {
  const { resolveContext } = options
  app.setErrorHandler(createErrorHandler((refusal) => refusal))

  app.post<{ Body: Pick<AcceptedInvitation, 'secret'> }>(
    '/req/invitation/open',
    procedureRoute('accountInvitations.open', options),
    async (request, reply) => ({
      success: true,
      ...(await createCaller(await resolveContext(request, reply)).accountInvitations.open(request.body)),
    }),
  )

  app.post<{ Body: AcceptedInvitation }>(
    '/req/invitation',
    procedureRoute('accountInvitations.accept', options),
    async (request, reply) => ({
      success: true,
      ...(await createCaller(await resolveContext(request, reply)).accountInvitations.accept(request.body)),
    }),
  )
}

type LanguageChoice = Parameters<Api['language']['change']>[0]

/** Registers the route to choose the language. */
async function language(app: FastifyInstance, options: WebActionOptions) {
  const { resolveContext } = options
  app.setErrorHandler(createErrorHandler(({ message: error, errors }) => ({ error, ...(errors && { errors }) })))

  app.post<{ Body: LanguageChoice }>(
    '/req/changeLanguage',
    procedureRoute('language.change', options),
    async (request, reply) => {
      const { language } = createCaller(await resolveContext(request, reply))
      const { redirectUri } = await language.change(request.body)
      return isForm(request) ? reply.redirect(redirectUri, 303) : { success: true }
    },
  )
}

type Credentials = Parameters<Api['sessions']['login']>[0]

interface LoginQuery {
  Querystring: { redirectUri?: string; state?: string }
}

/** Registers the sign-in routes, with bodies that existing front ends expect. */
async function login(app: FastifyInstance, options: WebActionOptions) {
  const { resolveContext } = options
  app.setErrorHandler(
    createErrorHandler(({ code, message: error }) => ({
      error,
      message: 'Login Failed!',
      ...(isAccountProblem(code) && { code }),
    })),
  )

  for (const path of ['/req/login', '/req/login-ldap'])
    app.post<{ Body: Credentials }>(path, procedureRoute('sessions.login', options), async (request, reply) => {
      const ctx = await resolveContext(request, reply)
      const { redirectUri } = await createCaller(ctx).sessions.login(request.body)
      setCsrfToken(ctx, reply)
      return { success: true, redirectUri }
    })

  const createLoginRedirect =
    (by?: 'oidc' | 'proxy') => async (request: FastifyRequest<LoginQuery>, reply: FastifyReply) => {
      const { sessions } = createCaller(await resolveContext(request, reply))
      const { redirectUri, state } = request.query
      // A provider redirects back to the same address with a `state`.
      const isBack = by === undefined && state !== undefined
      return redirectOn(request, reply, () =>
        isBack ? sessions.finishLogin({ query: readSearch(request) }) : sessions.beginLogin({ by, redirectUri }),
      )
    }
  app.get<LoginQuery>('/req/login', createLoginRedirect())
  app.get<LoginQuery>('/req/login/oidc', createLoginRedirect('oidc'))
  app.get<LoginQuery>('/req/login/proxy', createLoginRedirect('proxy'))
  // Legacy addresses, some of which receive a form.
  for (const [path, by] of [
    ['/req/login-oidc', 'oidc'],
    ['/req/login-shibboleth', 'proxy'],
  ] as const) {
    app.get<LoginQuery>(path, createLoginRedirect(by))
    app.post<LoginQuery>(path, createLoginRedirect(by))
  }
}

/** Redirects to the target of the step, or to the login page with an error code. */
async function redirectOn(request: FastifyRequest, reply: FastifyReply, step: () => Promise<{ redirectUri: string }>) {
  try {
    return reply.redirect((await step()).redirectUri)
  } catch (thrown) {
    const failure = toFailure(thrown)
    logServerFailure(failure, request.log)
    return reply.redirect(`/login?error=${failure.code}`)
  }
}

/** Registers the routes to read and to end a session. */
async function session(app: FastifyInstance, { resolveContext, peekContext }: WebActionOptions) {
  app.setErrorHandler(createErrorHandler((refusal) => refusal))

  app.get('/check-session', async (request, reply) => {
    const current = await createCaller(await peekContext(request, reply)).sessions.current()
    return current.expired ? current : { expired: false, remaining: current.remaining }
  })

  app.post('/logout', async (request, reply) => {
    const { sessions } = createCaller(await resolveContext(request, reply))
    return answerSignedOut(request, reply, await sessions.logout())
  })
}

/**
 * Returns true if a link of this installation leads to the address. No other site can sign somebody out by a link or a
 * picture; our own pages ask first, because they forget the keys before.
 */
const isOwnLink = ({ headers, query }: FastifyRequest) =>
  headers['sec-fetch-site'] === 'same-origin' &&
  pageDestinations.has(headers['sec-fetch-dest']) &&
  headers['sec-purpose'] === undefined &&
  !Object.hasOwn(query as object, 'ask')

/** Destinations of pages and scripts, in contrast to pictures and frames. */
const pageDestinations = new Set<unknown>([undefined, 'document', 'empty'])

/** Creates a hook that signs out whoever follows a link of an existing front end; all others see the page of the address. */
export const createSignOutLink =
  (resolveContext: ContextResolver) => async (request: FastifyRequest, reply: FastifyReply) => {
    if (!isOwnLink(request)) return undefined
    const { redirectUri } = await createCaller(await resolveContext(request, reply)).sessions.logout()
    return reply.header('cache-control', 'no-store').redirect(redirectUri)
  }

/** Redirects a form; returns the address to a script. */
const answerSignedOut = (request: FastifyRequest, reply: FastifyReply, { redirectUri }: { redirectUri: string }) =>
  isForm(request) ? reply.redirect(redirectUri, 303) : reply.send({ success: true, redirectUri })

/** Returns true if a browser shows the answer as a page. */
const isForm = ({ headers }: FastifyRequest) => isPreferred('text/html', headers.accept)

type NewToken = Parameters<Api['tokens']['create']>[0]

/** Registers the routes for personal access tokens. */
async function tokens(app: FastifyInstance, options: WebActionOptions) {
  const { resolveContext } = options
  app.setErrorHandler(createErrorHandler(({ message, errors }) => ({ message, ...(errors && { errors }) })))

  app.post<{ Body: NewToken }>(
    '/req/profile/create-token',
    procedureRoute('tokens.create', options),
    async (request, reply) => {
      const api = createCaller(await resolveContext(request, reply))
      const { id, name, token } = await api.tokens.create(request.body)
      return { success: true, id, name, token }
    },
  )

  app.get('/req/profile/fetch-tokens', procedureRoute('tokens.list', options), async (request, reply) => {
    const api = createCaller(await resolveContext(request, reply))
    // The specification lists the members of a token.
    const tokens = (await api.tokens.list()).map(({ models: _, ...token }) => token)
    return { success: true, tokens }
  })

  app.post<{ Body: { tokenId: number } }>(
    '/req/profile/revoke-token',
    procedureRoute('tokens.revoke', options),
    async (request, reply) => {
      const api = createCaller(await resolveContext(request, reply))
      await api.tokens.revoke(request.body)
      return { success: true, message: 'Token revoked successfully.' }
    },
  )
}

/** Sends the CSRF token of the new session, which the page needs next. */
const setCsrfToken = ({ browser }: Context, reply: FastifyReply) =>
  reply.header('x-csrf-token', browser?.session?.csrfToken)

interface WebActionOptions extends FacadeOptions {
  /** Creates a context without renewing the session. */
  peekContext: ContextResolver
}

/** The data of an error body. */
interface ErrorBody {
  code: string
  message: string
  requestId: string
  /** Invalid fields. */
  errors?: FieldErrors
}

/** Returns true for wrong credentials in a form: the existing front end reads only successful responses to its form. */
const isFailedForm = ({ code }: Failure, { headers }: FastifyRequest) =>
  code === 'login_failed' && !/\bjson\b/.test(headers['content-type'] ?? 'json')

/** Creates an error handler with a body in the shape of the surface. */
function createErrorHandler(toBody: (refusal: ErrorBody) => object) {
  return (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    // The error handler of the whole service answers a navigation with a page.
    if (isNavigation(request)) throw thrown
    const failure = startErrorResponse(thrown, request, reply)
    const { code, message } = failure
    const isFailed = isFailedForm(failure, request)
    if (isFailed) reply.removeHeader('www-authenticate')
    const body = toBody({ code, message, requestId: request.id, ...readFieldErrors(failure) })
    return reply.code(isFailed ? 200 : failure.status).send({ success: false, ...body })
  }
}

function readFieldErrors({ status, error }: Failure): { errors?: FieldErrors } {
  const issues = status === 422 ? readIssues(error) : []
  return issues.length > 0 ? { errors: toFieldErrors(issues) } : {}
}
