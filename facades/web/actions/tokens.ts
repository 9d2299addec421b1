import type { FastifyInstance } from 'fastify'
import { type Api, createCaller } from '../../../routers/index.ts'
import { routeTo } from '../../http/procedures.ts'
import type { ReqOptions } from './options.ts'
import { errorHandler } from './refusal.ts'

type Wanted = Parameters<Api['tokens']['create']>[0]

/** Routes for a person's access tokens. */
export async function tokens(app: FastifyInstance, options: ReqOptions) {
  const { contextOf } = options
  app.setErrorHandler(errorHandler(({ message, errors }) => ({ message, ...(errors && { errors }) })))

  app.post<{ Body: Wanted }>('/req/profile/create-token', routeTo('tokens.create', options), async (request, reply) => {
    const api = createCaller(await contextOf(request, reply))
    const { id, name, token } = await api.tokens.create(request.body)
    return { success: true, id, name, token }
  })

  app.get('/req/profile/fetch-tokens', routeTo('tokens.list', options), async (request, reply) => {
    const api = createCaller(await contextOf(request, reply))
    return { success: true, tokens: await api.tokens.list() }
  })

  app.post<{ Body: { tokenId: number } }>(
    '/req/profile/revoke-token',
    routeTo('tokens.revoke', options),
    async (request, reply) => {
      const api = createCaller(await contextOf(request, reply))
      await api.tokens.revoke(request.body)
      return { success: true, message: 'Token revoked successfully.' }
    },
  )
}
