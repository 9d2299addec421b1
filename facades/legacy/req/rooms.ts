import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { createCaller } from '../../../routers/index.ts'
import { type FacadeOptions, procedureRoute } from '../../http/procedures.ts'
import { registerAttachmentRoutes } from './attachments.ts'
import { createErrorHandler, parseAs, parseBody } from './errors.ts'
import { findMemberByName, findMembers, findRoom, findRoomContent, type RoomParams } from './find.ts'
import { registerRoomAnswerRoutes, registerRoomMessageRoutes } from './room-messages.ts'
import {
  getUserId,
  isMember,
  picture,
  toLegacyRoom,
  toPictureUuid,
  toRoomListEntry,
  toRoomPictureAddress,
  toRoomRow,
} from './shapes.ts'

const number = z.coerce.number().int().min(1)
const listQuery = z.object({ size: number.max(200).default(50), number: number.default(1) })
const newRoom = z.object({ room_name: z.string() })
const person = z.object({ username: z.string() })
const roleBody = z.object({ username: z.string(), role: z.enum(['admin', 'editor', 'viewer']) })
const search = z.object({ query: z.string() })

/** Legacy names of input members. */
const memberNames = {
  content: ['content', 'text'],
  attachments: ['content', 'attachments'],
  number: ['message_id'],
  thread: ['threadId'],
  avatar: ['image'],
  roomDescription: ['description'],
  systemPrompt: ['system_prompt'],
}

/** Registers the routes for rooms with legacy bodies. */
export async function rooms(app: FastifyInstance, options: FacadeOptions) {
  const { resolveContext } = options
  app.setErrorHandler(createErrorHandler(memberNames, addForbidden))
  registerAttachmentRoutes(app, options, '/req/room/attachment', '/upload/:slug')
  registerRoomMessageRoutes(app, options)
  registerSettingsRoutes(app, options)
  await app.register(async (creating) => registerCreateRoute(creating, options))
  await app.register(async (answering) => registerRoomAnswerRoutes(answering, options))
  registerMemberRoutes(app, options)

  app.get('/req/room', procedureRoute('rooms.list', options, { query: listQuery }), async (request, reply) => {
    const page = parseAs(listQuery, request.query)
    const { items } = await createCaller(await resolveContext(request, reply)).rooms.list({ page })
    return { success: true, data: items.map(toRoomListEntry) }
  })

  app.get<RoomParams>('/req/room/:slug', procedureRoute('rooms.find', options), async (request, reply) => {
    const roomRequest = await findRoom(request, reply, resolveContext)
    return toLegacyRoom(roomRequest.room, await findRoomContent(roomRequest))
  })

  app.delete<RoomParams>(
    '/req/room/removeRoom/:slug',
    procedureRoute('rooms.delete', options),
    async (request, reply) => {
      const { api, room } = await findRoom(request, reply, resolveContext)
      await api.rooms.delete({ id: room.id })
      return { success: true, message: 'Room deleted successfully' }
    },
  )

  app.post(
    '/req/room/search',
    procedureRoute('users.findPeople', options, { body: search }),
    async (request, reply) => {
      const { query } = parseBody(search, request)
      const { meta } = await createCaller(await resolveContext(request, reply)).users.findPeople({
        query: decodeText(query),
      })
      const users = meta.people.map(({ displayName: name, username, email, publicKey }) => ({
        name,
        username,
        email,
        publicKey,
      }))
      return users.length > 0 ? { success: true, users } : { success: false, message: 'No users found' }
    },
  )
}

/** Adds the word that legacy front ends look for. */
const addForbidden = ({ status }: { status: number }) => (status === 403 ? { response: 'Forbidden' } : {})

/** Decodes a text that legacy front ends send URL-encoded. */
function decodeText(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function registerCreateRoute(app: FastifyInstance, options: FacadeOptions): void {
  app.setErrorHandler(createErrorHandler({ name: ['room_name'] }))
  app.post(
    '/req/room/createRoom',
    procedureRoute('rooms.create', options, { body: newRoom }),
    async (request, reply) => {
      const { room_name: name } = parseBody(newRoom, request)
      const room = await createCaller(await options.resolveContext(request, reply)).rooms.create({ name })
      const { id, room_name, slug, created_at, updated_at } = toRoomRow(room)
      return reply.code(201).send({ success: true, roomData: { id, room_name, slug, created_at, updated_at } })
    },
  )
}

function registerMemberRoutes(app: FastifyInstance, options: FacadeOptions): void {
  const { resolveContext } = options

  app.delete<RoomParams>(
    '/req/room/leaveRoom/:slug',
    procedureRoute('roomMembers.delete', options),
    async (request, reply) => {
      const { api, room } = await findRoom(request, reply, resolveContext)
      const { id } = await api.roomMembers.own({ room: room.id })
      await api.roomMembers.delete({ id })
      return { success: true }
    },
  )

  app.delete<RoomParams>(
    '/req/room/removeMember/:slug',
    procedureRoute('roomMembers.delete', options, { body: person }),
    async (request, reply) => {
      const roomRequest = await findRoom(request, reply, resolveContext)
      const { id } = await findMemberByName(roomRequest, parseBody(person, request).username)
      await roomRequest.api.roomMembers.delete({ id })
      return { success: true, message: 'Member removed successfully' }
    },
  )

  // Membership needs consent, so this only changes the role of a member.
  app.post<RoomParams>(
    '/req/room/addMember/:slug',
    procedureRoute('roomMembers.update', options, { body: roleBody }),
    async (request, reply) => {
      const roomRequest = await findRoom(request, reply, resolveContext)
      const { username, role } = parseBody(roleBody, request)
      const { id } = await findMemberByName(roomRequest, username)
      await roomRequest.api.roomMembers.update({ id, role })
      const members = await findMembers(roomRequest)
      return members.filter(isMember).map((member) => ({
        id: Number(member.id),
        room_id: Number(roomRequest.room.id),
        user_id: Number(getUserId(member)),
        role: member.role,
      }))
    },
  )
}

const text = z.string().nullish()
const settings = z.object({ name: text, description: text, system_prompt: text, image: text })

/** Registers the routes for the name, the texts and the picture of a room. */
function registerSettingsRoutes(app: FastifyInstance, options: FacadeOptions): void {
  const { resolveContext } = options

  app.post<RoomParams>(
    '/req/room/updateInfo/:slug',
    procedureRoute('rooms.update', options, { body: settings }),
    async (request, reply) => {
      const { api, room } = await findRoom(request, reply, resolveContext)
      const { name, description, system_prompt, image } = parseBody(settings, request)
      // An empty name changes nothing; an empty text clears it.
      await api.rooms.update({
        id: room.id,
        ...(name && { name }),
        ...(description !== undefined && { roomDescription: description || null }),
        ...(system_prompt !== undefined && { systemPrompt: system_prompt || null }),
        ...(image && { avatar: image }),
      })
      return { success: true, response: 'Info updated successfully' }
    },
  )

  app.post<RoomParams>(
    '/req/room/uploadAvatar/:slug',
    procedureRoute('rooms.update', options, { body: picture }),
    async (request, reply) => {
      const { api, room } = await findRoom(request, reply, resolveContext)
      const { image } = parseBody(picture, request)
      const changed = await api.rooms.update({ id: room.id, avatar: image })
      return { success: true, url: toRoomPictureAddress(changed), uuid: toPictureUuid(changed) }
    },
  )
}
