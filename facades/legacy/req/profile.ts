import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { createCaller } from '../../../routers/index.ts'
import { type FacadeOptions, procedureRoute } from '../../http/procedures.ts'
import { createErrorHandler, parseBody } from './errors.ts'
import { picture, toPictureAddress } from './shapes.ts'

const change = z.object({ displayName: z.string().nullish(), bio: z.string().nullish() })

/** The response that lets legacy pages continue. */
const PASSKEY_ACCEPTED = 'Passkey is valid'

/** Registers the routes for the own profile with legacy bodies. */
export async function profile(app: FastifyInstance, options: FacadeOptions) {
  const { resolveContext } = options
  app.setErrorHandler(createErrorHandler({ avatar: ['image'] }))

  app.post('/req/profile/update', procedureRoute('users.update', options), async (request, reply) => {
    const api = createCaller(await resolveContext(request, reply))
    const { displayName, bio } = parseBody(change, request)
    const { id } = await api.users.me()
    // An empty name changes nothing; an empty text clears it.
    const changed = { ...(displayName && { displayName }), ...(bio !== undefined && { bio: bio || null }) }
    await api.users.update({ id, ...changed })
    return { success: true, response: 'User information updated' }
  })

  app.post('/req/profile/uploadAvatar', procedureRoute('users.update', options), async (request, reply) => {
    const api = createCaller(await resolveContext(request, reply))
    const { image } = parseBody(picture, request)
    const { id } = await api.users.me()
    return { success: true, url: toPictureAddress(await api.users.update({ id, avatar: image })) }
  })

  app.get('/req/profile/requestPasskeyBackup', procedureRoute('passkey.backup', options), async (request, reply) => {
    const api = createCaller(await resolveContext(request, reply))
    return { success: true, passkeyBackup: await api.passkey.backup() }
  })

  await app.register(ignorePasskey)
}

/** Accepts a passkey without reading the body, because no server may know it. */
async function ignorePasskey(app: FastifyInstance) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.post('/req/profile/validatePasskey', { config: { readsForm: true } }, async () => ({
    success: true,
    message: PASSKEY_ACCEPTED,
  }))
}
