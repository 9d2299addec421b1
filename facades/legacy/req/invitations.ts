import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Context } from '../../../routers/core/context.ts'
import { type Issue, Problem } from '../../../routers/core/problems.ts'
import { createCaller } from '../../../routers/index.ts'
import type { Locale } from '../../../routers/ports/locales.ts'
import { type FacadeOptions, procedureRoute } from '../../http/procedures.ts'
import { createErrorHandler, parseBody } from './errors.ts'
import { findRoom, type RoomParams } from './find.ts'
import { type Member, type Room, toRoomRow } from './shapes.ts'

const personRole = z.enum(['admin', 'editor', 'viewer'])

const invitation = z.object({
  username: z.string(),
  role: personRole,
  iv: z.string(),
  tag: z.string(),
  encryptedRoomKey: z.string(),
  email: z.unknown().optional(),
})
const invitationsBody = z.object({ invitations: z.array(invitation).max(100) })
/** The hash is a secret that opens the key of the room, so the service must not forward it. */
const mailBody = z.object({
  username: z.string().min(1).max(255),
  hash: z.string().length(32),
  slug: z.string().min(1),
})
const acceptBody = z.object({ invitation_id: z.coerce.number().int().min(1).max(2_147_483_647) })

/** Registers the routes for invitations with legacy bodies. */
export async function invitations(app: FastifyInstance, options: FacadeOptions) {
  app.setErrorHandler(createErrorHandler({ id: ['invitation_id'] }, ({ message: error }) => ({ error })))
  registerInviterRoutes(app, options)
  registerInviteeRoutes(app, options)
}

function registerInviterRoutes(app: FastifyInstance, options: FacadeOptions): void {
  const { resolveContext } = options

  app.post<RoomParams>(
    '/req/inv/store-invitations/:slug',
    procedureRoute('roomMembers.inviteByName', options, { body: invitationsBody }),
    async (request, reply) => {
      const { api, room } = await findRoom(request, reply, resolveContext)
      const entries = parseBody(invitationsBody, request).invitations
      const byMail = entries.findIndex(({ email }) => email)
      if (byMail >= 0)
        throw createMailProblem(await resolveContext(request, reply), room, ['invitations', byMail, 'email'])
      // Legacy front ends only know the first key.
      const invitations = entries.map(({ username, role, ...key }) => ({
        username,
        role,
        wrappedKey: writeWrappedKey(key),
        keyEpoch: 0,
      }))
      await api.roomMembers.inviteByName({ room: room.id, invitations })
      return reply.send()
    },
  )

  app.post(
    '/req/inv/sendExternInvitation',
    procedureRoute('roomMembers.inviteByName', options, { body: mailBody }),
    async (request, reply) => {
      const ctx = await resolveContext(request, reply)
      const { slug } = parseBody(mailBody, request)
      throw createMailProblem(ctx, await createCaller(ctx).rooms.find({ slug }))
    },
  )
}

function registerInviteeRoutes(app: FastifyInstance, options: FacadeOptions): void {
  const { resolveContext } = options

  app.get(
    '/req/inv/requestUserInvitations',
    procedureRoute('roomMembers.invitations', options),
    async (request, reply) => {
      const found = await createCaller(await resolveContext(request, reply)).roomMembers.invitations()
      return { formattedInvitations: found.map(toLegacyInvitation) }
    },
  )

  app.get<RoomParams>(
    '/req/inv/requestInvitation/:slug',
    procedureRoute('roomMembers.invitations', options),
    async (request, reply) => {
      const all = await createCaller(await resolveContext(request, reply)).roomMembers.invitations()
      const found = all.find(({ roomSlug }) => roomSlug === request.params.slug)
      if (!found) throw new Problem('not_found', { detail: 'There is no invitation to this room.' })
      return toLegacyInvitation(found)
    },
  )

  app.post(
    '/req/inv/roomInvitationAccept',
    procedureRoute('roomMembers.accept', options, { body: acceptBody }),
    async (request, reply) => {
      const api = createCaller(await resolveContext(request, reply))
      const { invitation_id: number } = parseBody(acceptBody, request)
      const { data } = await api.roomMembers.accept({ id: `invitation-${number}` })
      const room = data.relations?.['room'] as Room
      return { success: true, room: toRoomRow(await api.rooms.get({ id: room.id })) }
    },
  )
}

/**
 * Creates the error for invitations by mail, which the service does not send. Callers who may invite learn the
 * alternative.
 */
function createMailProblem({ services, locale }: Context, { role }: Room, path?: Issue['path']): Problem {
  if (role !== 'admin') return new Problem('not_permitted')
  const detail = services.texts.labels[locale as Locale]['rooms.invitation.noMail'] ?? ''
  return new Problem('invalid', { detail, issues: path ? [{ path, message: 'must be absent' }] : [] })
}

/** Replaces iv and tag if the key is encrypted for a public key. */
const NONE = '0'

interface WrappedKey {
  iv: string
  tag: string
  encryptedRoomKey: string
}

const writeWrappedKey = ({ iv, tag, encryptedRoomKey }: WrappedKey) =>
  iv === NONE && tag === NONE ? encryptedRoomKey : `${iv}|${tag}|${encryptedRoomKey}`

function toLegacyInvitation({ id, roomSlug, role, wrappedKey = '' }: Member) {
  const parts = wrappedKey.split('|')
  const [iv, tag, invitation] = parts.length === 3 ? parts : [NONE, NONE, wrappedKey]
  return { room_slug: roomSlug, role, iv, tag, invitation, invitation_id: Number(id.replace('invitation-', '')) }
}
