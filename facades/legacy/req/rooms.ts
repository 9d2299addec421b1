import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { createCaller } from '../../../routers/index.ts'
import { type FacadeOptions, routeTo } from '../../http/procedures.ts'
import { attachmentRoutes } from './attachments.ts'
import { bodyIn, errorHandler, inShape } from './errors.ts'
import { findMembers, findMessages, findRoom, type InRoom, memberNamed, ownMembership } from './find.ts'
import { roomAnswers, roomMessages } from './room-messages.ts'
import { isMember, olderRoom, picture, pictureUuid, roomInList, roomPicture, roomRow, userIn } from './shapes.ts'

const number = z.coerce.number().int().min(1)
const ofList = z.object({ size: number.max(200).default(50), number: number.default(1) })
const newRoom = z.object({ room_name: z.string() })
const person = z.object({ username: z.string() })
const roleOf = z.object({ username: z.string(), role: z.enum(['admin', 'editor', 'viewer']) })
const search = z.object({ query: z.string() })

/** What these routes call the members of our inputs. */
const words = {
  content: ['content', 'text'],
  attachments: ['content', 'attachments'],
  number: ['message_id'],
  thread: ['threadId'],
  avatar: ['image'],
  roomDescription: ['description'],
  systemPrompt: ['system_prompt'],
}

/** Routes for rooms, with the bodies that existing front ends expect. */
export async function rooms(app: FastifyInstance, options: FacadeOptions) {
  const { contextOf } = options
  app.setErrorHandler(errorHandler(words, forbidden))
  attachmentRoutes(app, options, '/req/room/attachment', '/upload/:slug')
  roomMessages(app, options)
  roomPictures(app, options)
  await app.register(async (creating) => createRoom(creating, options))
  await app.register(async (answering) => roomAnswers(answering, options))
  memberRoutes(app, options)

  app.get('/req/room', routeTo('rooms.list', options, { query: ofList }), async (request, reply) => {
    const page = inShape(ofList, request.query)
    const { items } = await createCaller(await contextOf(request, reply)).rooms.list({ page })
    return { success: true, data: items.map(roomInList) }
  })

  app.get<InRoom>('/req/room/:slug', routeTo('rooms.find', options), async (request, reply) => {
    const at = await findRoom(request, reply, contextOf)
    const [members, messages] = await Promise.all([findMembers(at), findMessages(at)])
    return olderRoom(at.room, { members, messages, viewer: at.viewer })
  })

  app.delete<InRoom>('/req/room/removeRoom/:slug', routeTo('rooms.delete', options), async (request, reply) => {
    const { api, room } = await findRoom(request, reply, contextOf)
    await api.rooms.delete({ id: room.id })
    return { success: true, message: 'Room deleted successfully' }
  })

  app.post('/req/room/search', routeTo('users.findPeople', options, { body: search }), async (request, reply) => {
    const { query } = bodyIn(search, request)
    const { meta } = await createCaller(await contextOf(request, reply)).users.findPeople({ query: decoded(query) })
    const users = meta.people.map(({ displayName: name, username, email, publicKey }) => ({
      name,
      username,
      email,
      publicKey,
    }))
    return users.length > 0 ? { success: true, users } : { success: false, message: 'No users found' }
  })
}

/** Existing front ends look for this word. */
const forbidden = ({ status }: { status: number }) => (status === 403 ? { response: 'Forbidden' } : {})

/** Existing front ends send the text as it would stand in an address. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function createRoom(app: FastifyInstance, options: FacadeOptions): void {
  app.setErrorHandler(errorHandler({ name: ['room_name'] }))
  app.post('/req/room/createRoom', routeTo('rooms.create', options, { body: newRoom }), async (request, reply) => {
    const { room_name: name } = bodyIn(newRoom, request)
    const room = await createCaller(await options.contextOf(request, reply)).rooms.create({ name })
    const { id, room_name, slug, created_at, updated_at } = roomRow(room)
    return reply.code(201).send({ success: true, roomData: { id, room_name, slug, created_at, updated_at } })
  })
}

function memberRoutes(app: FastifyInstance, options: FacadeOptions): void {
  const { contextOf } = options

  app.delete<InRoom>('/req/room/leaveRoom/:slug', routeTo('roomMembers.delete', options), async (request, reply) => {
    const at = await findRoom(request, reply, contextOf)
    const { id } = await ownMembership(at)
    await at.api.roomMembers.delete({ id })
    return { success: true }
  })

  app.delete<InRoom>(
    '/req/room/removeMember/:slug',
    routeTo('roomMembers.delete', options, { body: person }),
    async (request, reply) => {
      const at = await findRoom(request, reply, contextOf)
      const { id } = await memberNamed(at, bodyIn(person, request).username)
      await at.api.roomMembers.delete({ id })
      return { success: true, message: 'Member removed successfully' }
    },
  )

  // Nobody becomes a member without their consent: the role of a member is changed.
  app.post<InRoom>(
    '/req/room/addMember/:slug',
    routeTo('roomMembers.update', options, { body: roleOf }),
    async (request, reply) => {
      const at = await findRoom(request, reply, contextOf)
      const { username, role } = bodyIn(roleOf, request)
      const { id } = await memberNamed(at, username)
      await at.api.roomMembers.update({ id, role })
      const members = await findMembers(at)
      return members.filter(isMember).map((member) => ({
        id: Number(member.id),
        room_id: Number(at.room.id),
        user_id: Number(userIn(member)),
        role: member.role,
      }))
    },
  )
}

const text = z.string().nullish()
const settings = z.object({ name: text, description: text, system_prompt: text, image: text })

/** Routes for what a room says of itself, and its picture. */
function roomPictures(app: FastifyInstance, options: FacadeOptions): void {
  const { contextOf } = options

  app.post<InRoom>(
    '/req/room/updateInfo/:slug',
    routeTo('rooms.update', options, { body: settings }),
    async (request, reply) => {
      const { api, room } = await findRoom(request, reply, contextOf)
      const { name, description, system_prompt, image } = bodyIn(settings, request)
      // An empty name is none; an empty text clears what was there.
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

  app.post<InRoom>(
    '/req/room/uploadAvatar/:slug',
    routeTo('rooms.update', options, { body: picture }),
    async (request, reply) => {
      const { api, room } = await findRoom(request, reply, contextOf)
      const { image } = bodyIn(picture, request)
      const changed = await api.rooms.update({ id: room.id, avatar: image })
      return { success: true, url: roomPicture(changed), uuid: pictureUuid(changed) }
    },
  )
}
