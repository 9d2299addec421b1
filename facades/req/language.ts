import type { FastifyInstance } from 'fastify'
import { type Api, createCaller } from '../../routers/index.ts'
import { type ReqOptions, small } from './options.ts'
import { refusing } from './refusal.ts'

type Choice = Parameters<Api['language']['change']>[0]

/** In which language a browser is spoken to. */
export async function language(app: FastifyInstance, { contextOf }: ReqOptions) {
  app.addHook('onRequest', async (request, reply) => void (await contextOf(request, reply)))
  app.setErrorHandler(refusing(contextOf, ({ message: error, errors }) => ({ error, ...(errors && { errors }) })))

  app.post<{ Body: Choice }>('/req/changeLanguage', small, async (request, reply) => {
    await createCaller(await contextOf(request, reply)).language.change(request.body)
    return { success: true }
  })
}
