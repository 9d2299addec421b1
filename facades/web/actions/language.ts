import type { FastifyInstance } from 'fastify'
import { type Api, createCaller } from '../../../routers/index.ts'
import { routeTo } from '../../http/procedures.ts'
import type { ReqOptions } from './options.ts'
import { errorHandler } from './refusal.ts'

type Choice = Parameters<Api['language']['change']>[0]

/** Route to choose the language of a browser. */
export async function language(app: FastifyInstance, options: ReqOptions) {
  const { contextOf } = options
  app.setErrorHandler(errorHandler(({ message: error, errors }) => ({ error, ...(errors && { errors }) })))

  app.post<{ Body: Choice }>('/req/changeLanguage', routeTo('language.change', options), async (request, reply) => {
    await createCaller(await contextOf(request, reply)).language.change(request.body)
    return { success: true }
  })
}
