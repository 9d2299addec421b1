import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { createCaller } from '../../../routers/index.ts'
import { type FacadeOptions, procedureRoute } from '../../http/procedures.ts'
import { createErrorHandler, parseBody } from './errors.ts'
import { picture, toPictureAddress } from './shapes.ts'

const change = z.object({ displayName: z.string().nullish(), bio: z.string().nullish() })

/** Says that a passkey may be kept; pages of earlier versions then go on. */
const PASSKEY_ACCEPTED = 'Passkey is valid'

/** Routes for people's own profile, with the bodies that existing front ends expect. */
export async function profile(app: FastifyInstance, options: FacadeOptions) {
  const { contextOf } = options
  app.setErrorHandler(createErrorHandler({ avatar: ['image'] }))

  app.post('/req/profile/update', procedureRoute('users.update', options), async (request, reply) => {
    const api = createCaller(await contextOf(request, reply))
    const { displayName, bio } = parseBody(change, request)
    const { id } = await api.users.me()
    // An empty name is none; an empty text clears what was there.
    const changed = { ...(displayName && { displayName }), ...(bio !== undefined && { bio: bio || null }) }
    await api.users.update({ id, ...changed })
    return { success: true, response: 'User information updated' }
  })

  app.post('/req/profile/uploadAvatar', procedureRoute('users.update', options), async (request, reply) => {
    const api = createCaller(await contextOf(request, reply))
    const { image } = parseBody(picture, request)
    const { id } = await api.users.me()
    return { success: true, url: toPictureAddress(await api.users.update({ id, avatar: image })) }
  })

  app.get('/req/profile/requestPasskeyBackup', procedureRoute('passkey.backup', options), async (request, reply) => {
    const api = createCaller(await contextOf(request, reply))
    return { success: true, passkeyBackup: await api.passkey.backup() }
  })

  await app.register(ignorePasskey)
}

/** Earlier front ends send the passkey itself, which no server may know: the body is not read. */
async function ignorePasskey(app: FastifyInstance) {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.post('/req/profile/validatePasskey', { config: { readsForm: true } }, async () => ({
    success: true,
    message: PASSKEY_ACCEPTED,
  }))
}
