import type { FastifyInstance } from 'fastify'
import { type Api, createCaller } from '../../../routers/index.ts'
import { routeTo } from '../../http/procedures.ts'
import { setCsrfToken } from './csrf-token.ts'
import type { ReqOptions } from './options.ts'
import { errorHandler } from './refusal.ts'

type FirstKeys = Parameters<Api['registration']['complete']>[0]
type PasswordChange = Parameters<Api['password']['change']>[0]
type Backup = Parameters<Api['passkey']['renewBackup']>[0]

/** Routes by which people make their keys and recover them. */
export async function keys(app: FastifyInstance, options: ReqOptions) {
  app.setErrorHandler(errorHandler((refusal) => refusal))
  makingRoutes(app, options)
  recoveryRoutes(app, options)
}

function makingRoutes(app: FastifyInstance, options: ReqOptions): void {
  const { contextOf } = options

  app.post<{ Body: FirstKeys }>('/handshake', routeTo('registration.complete', options), async (request, reply) => {
    const ctx = await contextOf(request, reply)
    const { redirectUri } = await createCaller(ctx).registration.complete(request.body)
    setCsrfToken(ctx, reply)
    return { success: true, redirectUri }
  })

  app.post<{ Body: PasswordChange }>(
    '/req/profile/change-password',
    routeTo('password.change', options),
    async (request, reply) => {
      const ctx = await contextOf(request, reply)
      await createCaller(ctx).password.change(request.body)
      setCsrfToken(ctx, reply)
      return { success: true, message: 'Password changed. Your other sessions have ended.' }
    },
  )
}

function recoveryRoutes(app: FastifyInstance, options: ReqOptions): void {
  const { contextOf } = options

  app.get('/req/profile/passkey-backup', routeTo('passkey.backup', options), async (request, reply) => {
    const api = createCaller(await contextOf(request, reply))
    return { success: true, passkeyBackup: await api.passkey.backup() }
  })

  app.post<{ Body: Backup }>(
    '/req/profile/passkey-backup',
    routeTo('passkey.renewBackup', options),
    async (request, reply) => {
      await createCaller(await contextOf(request, reply)).passkey.renewBackup(request.body)
      return { success: true }
    },
  )

  app.post('/req/profile/reset', routeTo('passkey.reset', options), async (request, reply) => {
    const ctx = await contextOf(request, reply)
    const { redirectUri } = await createCaller(ctx).passkey.reset()
    setCsrfToken(ctx, reply)
    return { success: true, redirectUri }
  })
}
