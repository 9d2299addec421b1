import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../../routers/core/context.ts'
import { isAccountProblem } from '../../../routers/core/problems.ts'
import { type Api, createCaller } from '../../../routers/index.ts'
import { toFailure } from '../../http/failure.ts'
import { routeTo } from '../../http/procedures.ts'
import { setCsrfToken } from './csrf-token.ts'
import type { ReqOptions } from './options.ts'
import { errorHandler } from './refusal.ts'

type Credentials = Parameters<Api['sessions']['login']>[0]

interface Coming {
  Querystring: { redirectUri?: string; state?: string }
}

/** Routes to sign in, with the bodies that existing front ends expect. */
export async function login(app: FastifyInstance, options: ReqOptions) {
  const { contextOf } = options
  app.setErrorHandler(
    errorHandler(({ code, message: error }) => ({
      error,
      message: 'Login Failed!',
      ...(isAccountProblem(code) && { code }),
    })),
  )

  for (const path of ['/req/login', '/req/login-ldap'])
    app.post<{ Body: Credentials }>(path, routeTo('sessions.login', options), async ({ body, context }, reply) => {
      const ctx = context as Context
      const { redirectUri } = await createCaller(ctx).sessions.login(body)
      setCsrfToken(ctx, reply)
      return { success: true, redirectUri }
    })

  const elsewhere = (by?: 'oidc' | 'proxy') => async (request: FastifyRequest<Coming>, reply: FastifyReply) => {
    const { sessions } = createCaller(await contextOf(request, reply))
    const { redirectUri, state } = request.query
    // A provider redirects back to the address where its sign-in began, with a state.
    const isBack = by === undefined && state !== undefined
    return redirectOn(request, reply, () =>
      isBack ? sessions.finishLogin({ query: searchOf(request) }) : sessions.beginLogin({ by, redirectUri }),
    )
  }
  app.get<Coming>('/req/login', elsewhere())
  app.get<Coming>('/req/login/oidc', elsewhere('oidc'))
  app.get<Coming>('/req/login/proxy', elsewhere('proxy'))
  // As earlier front ends call them, some with a form.
  for (const [path, by] of [
    ['/req/login-oidc', 'oidc'],
    ['/req/login-shibboleth', 'proxy'],
  ] as const) {
    app.get<Coming>(path, elsewhere(by))
    app.post<Coming>(path, elsewhere(by))
  }
}

const searchOf = ({ url }: FastifyRequest) => url.split(/\?(.*)/s)[1] ?? ''

/** Redirects the browser to where the step leads, or to the login page with an error code. */
async function redirectOn(request: FastifyRequest, reply: FastifyReply, step: () => Promise<{ redirectUri: string }>) {
  try {
    return reply.redirect((await step()).redirectUri)
  } catch (thrown) {
    const { status, code, error } = toFailure(thrown)
    if (status >= 500) request.log.error({ error: error.cause ?? error }, code)
    return reply.redirect(`/login?error=${code}`)
  }
}
