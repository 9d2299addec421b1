import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { readIssues } from '../../../routers/core/issues.ts'
import { Problem } from '../../../routers/core/problems.ts'
import { readRequest, remapIssues } from '../../ai/request-body.ts'
import { toFailure } from '../../http/failure.ts'
import { isNavigation } from '../../http/negotiation.ts'
import { type FacadeOptions, routeTo } from '../../http/procedures.ts'
import { validationError } from '../errors.ts'
import { bodyIn } from './errors.ts'
import { findMembers, findRoom, type InRoom, messageIn, ownIn, type RoomRequest } from './find.ts'
import {
  attachmentIds,
  filesOf,
  flag,
  type Message,
  messageContent,
  olderMessage,
  sealedText,
  whole,
} from './shapes.ts'
import { fieldAt, olderPayload, questionOf } from './stream-ai.ts'

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
      const at = await findRoom(request, reply, contextOf)
      return shown(at, request.params.number)
    },
  )

  app.post<InRoom>(
    '/req/room/readstat/:slug',
    routeTo('rooms.markRead', options, { body: readMessage }),
    async (request, reply) => {
      const at = await findRoom(request, reply, contextOf)
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
      const at = await findRoom(request, reply, contextOf)
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
      const at = await findRoom(request, reply, contextOf)
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
  const [message, members] = await Promise.all([messageIn(at, number), findMembers(at)])
  return olderMessage(message, ownIn(members, at.viewer))
}

const request = z.object({
  payload: olderPayload,
  slug: z.string().nullish(),
  key: z.string(),
  threadIndex: whole.default(0),
  isUpdate: flag.nullish(),
  messageId: z.string().nullish(),
})

/** Has a model answer in a room; the answer comes as a message behind this one. */
export function roomAnswers(app: FastifyInstance, options: FacadeOptions): void {
  app.setErrorHandler((thrown, sent, reply) => {
    const failure = toFailure(thrown)
    if (failure.status !== 422 || isNavigation(sent) || isOfAddress(thrown)) throw thrown
    return reply.code(422).send(validationError(failure, sent.id))
  })

  app.post<InRoom>(
    '/req/room/streamAI/:slug',
    routeTo('rooms.ask', options, { body: request }),
    async (sent, reply) => {
      const at = await findRoom(sent, reply, options.contextOf)
      const body = await readRequest(request, options.contextOf, sent, reply)
      if (body.slug && body.slug !== at.room.slug) throw wrongSlug()
      const asked = { ...questionOf(body.payload), ...(await placeOf(at, body)), key: body.key, keyEpoch }
      try {
        await at.api.rooms.ask({ id: at.room.id, ...asked })
        return { success: true }
      } catch (error) {
        if (!readIssues(error).some(({ path: [root] }) => root === 'model')) throw remapIssues(error, fieldInRoomAt)
        return reply.code(400).send({ success: false, error: NO_MODEL, code: 'invalid', requestId: sent.id })
      }
    },
  )
}

/** Where in the room the answer goes. */
async function placeOf(at: RoomRequest, { threadIndex, isUpdate, messageId }: z.output<typeof request>) {
  if (isUpdate) return { replaces: (await messageIn(at, messageId ?? '')).id }
  return threadIndex > 0 ? { thread: (await messageIn(at, `${threadIndex}.000`)).id } : {}
}

const NO_MODEL = 'The requested model is not available.'

const wrongSlug = () => new Problem('invalid', { issues: [{ path: ['slug'], message: 'must be that of the address' }] })

const isOfAddress = (thrown: unknown) => readIssues(thrown).some(({ path: [root] }) => root === 'slug')

const names: Record<string, string> = { key: 'key', thread: 'threadIndex', replaces: 'messageId' }

/** A path within our question as one within their request. */
function fieldInRoomAt(path: readonly (string | number)[]): readonly (string | number)[] {
  const name = names[String(path[0])]
  return name ? [name] : fieldAt(path)
}
