import type { FastifyInstance } from 'fastify'
import { type Api, createCaller } from '../../../routers/index.ts'
import { routeTo } from '../../http/procedures.ts'
import { setCsrfToken } from './csrf-token.ts'
import type { ReqOptions } from './options.ts'
import { errorHandler } from './refusal.ts'

type Ended = Parameters<Api['sessions']['end']>[0]

/** Routes to list and end a person's own sessions. */
export async function ownSessions(app: FastifyInstance, options: ReqOptions) {
  const { contextOf } = options
  app.setErrorHandler(errorHandler(({ message, errors }) => ({ message, ...(errors && { errors }) })))

  app.get('/req/profile/sessions', routeTo('sessions.list', options), async (request, reply) => {
    const api = createCaller(await contextOf(request, reply))
    return { success: true, sessions: await api.sessions.list() }
  })

  app.post<{ Body: Ended }>('/req/profile/end-session', routeTo('sessions.end', options), async (request, reply) => {
    const api = createCaller(await contextOf(request, reply))
    return { success: true, ...(await api.sessions.end(request.body)) }
  })

  app.post('/req/profile/end-other-sessions', routeTo('sessions.endOthers', options), async (request, reply) => {
    const ctx = await contextOf(request, reply)
    await createCaller(ctx).sessions.endOthers()
    setCsrfToken(ctx, reply)
    return { success: true }
  })
}
