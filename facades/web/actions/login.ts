import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Api, createCaller } from '../../../routers/index.ts'
import { failureOf } from '../../http/failure.ts'
import { routeTo } from '../../http/procedures.ts'
import type { ReqOptions } from './options.ts'
import { errorHandler } from './refusal.ts'

type Credentials = Parameters<Api['sessions']['login']>[0]

interface Coming {
  Querystring: { redirectUri?: string; state?: string }
}

/** Signing in, in the words of the front ends there are. */
export async function login(app: FastifyInstance, options: ReqOptions) {
  const { contextOf } = options
  app.setErrorHandler(errorHandler(({ message: error }) => ({ error, message: 'Login Failed!' })))

  app.post<{ Body: Credentials }>('/req/login', routeTo('sessions.login', options), async (request, reply) => {
    const ctx = await contextOf(request, reply)
    const { redirectUri } = await createCaller(ctx).sessions.login(request.body)
    reply.header('x-csrf-token', ctx.browser?.session?.csrfToken)
    return { success: true, redirectUri }
  })

  const elsewhere = (by?: 'oidc' | 'proxy') => async (request: FastifyRequest<Coming>, reply: FastifyReply) => {
    const { sessions } = createCaller(await contextOf(request, reply))
    const { redirectUri, state } = request.query
    // A provider sends the browser back with a state, to the address where signing in elsewhere begins.
    const isBack = by === undefined && state !== undefined
    return redirectOn(request, reply, () =>
      isBack ? sessions.finishLogin({ query: searchOf(request) }) : sessions.beginLogin({ by, redirectUri }),
    )
  }
  app.get<Coming>('/req/login', elsewhere())
  app.get<Coming>('/req/login/oidc', elsewhere('oidc'))
  app.get<Coming>('/req/login/proxy', elsewhere('proxy'))
}

const searchOf = ({ url }: FastifyRequest) => url.split(/\?(.*)/s)[1] ?? ''

/** Sends the browser on, or back to the login page with a word about what went wrong. */
async function redirectOn(request: FastifyRequest, reply: FastifyReply, step: () => Promise<{ redirectUri: string }>) {
  try {
    return reply.redirect((await step()).redirectUri)
  } catch (thrown) {
    const { status, code, error } = failureOf(thrown)
    if (status >= 500) request.log.error({ error: error.cause ?? error }, code)
    return reply.redirect(`/login?error=${code}`)
  }
}
