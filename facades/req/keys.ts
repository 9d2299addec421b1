import type { FastifyInstance } from 'fastify'
import { type Api, createCaller } from '../../routers/index.ts'
import { type ReqOptions, small } from './options.ts'
import { refusing } from './refusal.ts'

type FirstKeys = Parameters<Api['registration']['complete']>[0]
type PasswordChange = Parameters<Api['password']['change']>[0]
type Backup = Parameters<Api['passkey']['renewBackup']>[0]

/** How a person comes to keys, and back to them. */
export async function keys(app: FastifyInstance, { contextOf }: ReqOptions) {
  app.addHook('onRequest', async (request, reply) => void (await contextOf(request, reply)))
  app.setErrorHandler(refusing(contextOf, (refusal) => refusal))

  app.post<{ Body: FirstKeys }>('/handshake', { bodyLimit: 512 * 1024 }, async (request, reply) => {
    const ctx = await contextOf(request, reply)
    const { redirectUri } = await createCaller(ctx).registration.complete(request.body)
    // The page goes on with the new session.
    reply.header('x-csrf-token', ctx.browser?.session?.csrfToken)
    return { success: true, redirectUri }
  })

  app.post<{ Body: PasswordChange }>('/req/profile/change-password', small, async (request, reply) => {
    const ctx = await contextOf(request, reply)
    await createCaller(ctx).password.change(request.body)
    // The page goes on with the new session.
    reply.header('x-csrf-token', ctx.browser?.session?.csrfToken)
    return { success: true, message: 'Password changed. Your other sessions have ended.' }
  })

  app.get('/req/profile/passkey-backup', async (request, reply) => {
    const api = createCaller(await contextOf(request, reply))
    return { success: true, passkeyBackup: await api.passkey.backup() }
  })

  app.post<{ Body: Backup }>('/req/profile/passkey-backup', small, async (request, reply) => {
    await createCaller(await contextOf(request, reply)).passkey.renewBackup(request.body)
    return { success: true }
  })

  app.post('/req/profile/reset', async (request, reply) => {
    const ctx = await contextOf(request, reply)
    const { redirectUri } = await createCaller(ctx).passkey.reset()
    reply.header('x-csrf-token', ctx.browser?.session?.csrfToken)
    return { success: true, redirectUri }
  })
}
