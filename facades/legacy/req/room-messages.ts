import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { Problem } from '../../../routers/core/problems.ts'
import { type FacadeOptions, routeTo } from '../../http/procedures.ts'
import { bodyIn } from './errors.ts'
import { type InRoom, membersOf, messageIn, ownIn, type RoomRequest, roomOf } from './find.ts'
import { filesOf, type Message, olderMessage } from './room-shapes.ts'
import { attachmentIds, messageContent, sealedText, whole } from './shapes.ts'

type OneMessage = { Params: InRoom['Params'] & { number: string } }

const newMessage = z.object({ content: messageContent, threadId: whole })
const changedMessage = z.object({ content: messageContent, message_id: z.string() })
const readMessage = z.object({ message_id: z.string() })

/** The only key of a room that older front ends know is its first. */
const keyEpoch = 0

/** Routes for the messages of rooms. */
export function roomMessages(app: FastifyInstance, options: FacadeOptions): void {
  readRoutes(app, options)
  changeRoutes(app, options)
}

function readRoutes(app: FastifyInstance, options: FacadeOptions): void {
  const { contextOf } = options

  app.get<OneMessage>(
    '/req/room/message/get/:slug/:number',
    routeTo('roomMessages.find', options),
    async (request, reply) => {
      const at = await roomOf(request, reply, contextOf)
      return shown(at, request.params.number)
    },
  )

  app.post<InRoom>(
    '/req/room/readstat/:slug',
    routeTo('rooms.markRead', options, { body: readMessage }),
    async (request, reply) => {
      const at = await roomOf(request, reply, contextOf)
      const { id } = await messageIn(at, bodyIn(readMessage, request).message_id)
      await at.api.rooms.markRead({ id: at.room.id, upTo: id })
      return { success: true }
    },
  )
}

function changeRoutes(app: FastifyInstance, options: FacadeOptions): void {
  const { contextOf } = options

  app.post<InRoom>(
    '/req/room/sendMessage/:slug',
    routeTo('roomMessages.create', options, { body: newMessage }),
    async (request, reply) => {
      const at = await roomOf(request, reply, contextOf)
      const { content, threadId } = bodyIn(newMessage, request)
      const thread = threadId > 0 ? (await messageIn(at, `${threadId}.000`)).id : null
      const attachments = (await attachmentIds(at.api, content)) ?? []
      const message = { room: at.room.id, thread, content: sealedText(content), keyEpoch, attachments }
      const { number } = await at.api.roomMessages.create(message)
      return { success: true, messageData: await shown(at, number), response: 'Message sent successfully' }
    },
  )

  app.post<InRoom>(
    '/req/room/updateMessage/:slug',
    routeTo('roomMessages.update', options, { body: changedMessage }),
    async (request, reply) => {
      const at = await roomOf(request, reply, contextOf)
      const { content, message_id: number } = bodyIn(changedMessage, request)
      const message = await messageIn(at, number)
      assertNoNewFiles(message, content.attachments ?? [])
      const { id } = message
      await at.api.roomMessages.update({ id, content: sealedText(content), keyEpoch })
      return { success: true, messageData: await shown(at, number), response: 'Message updated successfully' }
    },
  )
}

/** The files of a message that was sent stay as they are. */
function assertNoNewFiles(message: Message, uuids: readonly string[]): void {
  const own = filesOf(message).map(({ uuid }) => uuid)
  const issues = uuids.flatMap((uuid, at) =>
    own.includes(uuid) ? [] : [{ path: ['attachments', at], message: 'cannot be added to a message that was sent' }],
  )
  if (issues.length > 0) throw new Problem('invalid', { issues })
}

/** A message as its reader sees it. */
async function shown(at: RoomRequest, number: string) {
  const [message, members] = await Promise.all([messageIn(at, number), membersOf(at)])
  return olderMessage(message, ownIn(members, at.viewer))
}
