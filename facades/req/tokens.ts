import type { FastifyInstance } from 'fastify'
import { type Api, createCaller } from '../../routers/index.ts'
import { type ReqOptions, small } from './options.ts'
import { refusing } from './refusal.ts'

type Wanted = Parameters<Api['tokens']['create']>[0]

/** The access tokens of the person in the browser. */
export async function tokens(app: FastifyInstance, { contextOf }: ReqOptions) {
  app.addHook('onRequest', async (request, reply) => void (await contextOf(request, reply)))
  app.setErrorHandler(refusing(contextOf, ({ message, errors }) => ({ message, ...(errors && { errors }) })))

  app.post<{ Body: Wanted }>('/req/profile/create-token', small, async (request, reply) => {
    const api = createCaller(await contextOf(request, reply))
    const { id, name, token } = await api.tokens.create(request.body)
    return { success: true, id, name, token }
  })

  app.get('/req/profile/fetch-tokens', async (request, reply) => {
    const api = createCaller(await contextOf(request, reply))
    return { success: true, tokens: await api.tokens.list() }
  })

  app.post<{ Body: { tokenId: number } }>('/req/profile/revoke-token', small, async (request, reply) => {
    const api = createCaller(await contextOf(request, reply))
    await api.tokens.revoke(request.body)
    return { success: true, message: 'Token revoked successfully.' }
  })
}
