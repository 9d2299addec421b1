import type { FastifyInstance } from 'fastify'
import { type Api, createCaller } from '../../../routers/index.ts'
import { routeTo } from '../../http/procedures.ts'
import { setCsrfToken } from './csrf-token.ts'
import type { ReqOptions } from './options.ts'
import { errorHandler } from './refusal.ts'

type FirstKeys = Parameters<Api['registration']['complete']>[0]

/** Routes by which people make their keys and recover them. */
export async function keys(app: FastifyInstance, options: ReqOptions) {
  const { contextOf } = options
  app.setErrorHandler(errorHandler((refusal) => refusal))

  app.post<{ Body: FirstKeys }>('/handshake', routeTo('registration.complete', options), async (request, reply) => {
    const ctx = await contextOf(request, reply)
    const { redirectUri } = await createCaller(ctx).registration.complete(request.body)
    setCsrfToken(ctx, reply)
    return { success: true, redirectUri }
  })

  app.get('/req/profile/passkey-backup', routeTo('passkey.backup', options), async (request, reply) => {
    const api = createCaller(await contextOf(request, reply))
    return { success: true, passkeyBackup: await api.passkey.backup() }
  })

  app.post('/req/profile/reset', routeTo('passkey.reset', options), async (request, reply) => {
    const ctx = await contextOf(request, reply)
    const { redirectUri } = await createCaller(ctx).passkey.reset()
    setCsrfToken(ctx, reply)
    return { success: true, redirectUri }
  })
}
