import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { readIssues } from '../../../routers/core/issues.ts'
import { type Issue, Problem } from '../../../routers/core/problems.ts'
import { readRequest, remapIssues } from '../../ai/request-body.ts'
import { toFailure } from '../../http/failure.ts'
import { toValidationError } from '../../http/legacy-errors.ts'
import { isNavigation } from '../../http/negotiation.ts'
import { type FacadeOptions, procedureRoute } from '../../http/procedures.ts'
import { parseBody } from './errors.ts'
import { findMessage, findOwnMember, findRoom, type RoomParams, type RoomRequest } from './find.ts'
import {
  findAttachmentIds,
  flag,
  getFiles,
  type Message,
  messageContent,
  toLegacyMessage,
  toSealedText,
  wholeNumber,
} from './shapes.ts'
import { legacyPayload, mapErrorPath, toQuestion } from './stream-ai.ts'

type OneMessage = { Params: RoomParams['Params'] & { number: string } }

const newMessage = z.object({ content: messageContent, threadId: wholeNumber })
const changedMessage = z.object({ content: messageContent, message_id: z.string() })
const readMarkBody = z.object({ message_id: z.string() })

/** Legacy front ends only know the first key of a room. */
const keyEpoch = 0

/** Registers the routes for messages of rooms. */
export function registerRoomMessageRoutes(app: FastifyInstance, options: FacadeOptions): void {
  registerReadRoutes(app, options)
  registerChangeRoutes(app, options)
}

function registerReadRoutes(app: FastifyInstance, options: FacadeOptions): void {
  const { resolveContext } = options

  app.get<OneMessage>(
    '/req/room/message/get/:slug/:number',
    procedureRoute('roomMessages.find', options),
    async (request, reply) => {
      const roomRequest = await findRoom(request, reply, resolveContext)
      return readMessageOfRoom(roomRequest, request.params.number)
    },
  )

  app.post<RoomParams>(
    '/req/room/readstat/:slug',
    procedureRoute('rooms.markRead', options, { body: readMarkBody }),
    async (request, reply) => {
      const roomRequest = await findRoom(request, reply, resolveContext)
      const { id } = await findMessage(roomRequest, parseBody(readMarkBody, request).message_id)
      await roomRequest.api.rooms.markRead({ id: roomRequest.room.id, upTo: id })
      return { success: true }
    },
  )
}

function registerChangeRoutes(app: FastifyInstance, options: FacadeOptions): void {
  const { resolveContext } = options

  app.post<RoomParams>(
    '/req/room/sendMessage/:slug',
    procedureRoute('roomMessages.create', options, { body: newMessage }),
    async (request, reply) => {
      const roomRequest = await findRoom(request, reply, resolveContext)
      const { content, threadId } = parseBody(newMessage, request)
      const thread = threadId > 0 ? (await findMessage(roomRequest, `${threadId}.000`)).id : null
      const attachments = (await findAttachmentIds(roomRequest.api, content)) ?? []
      const message = { room: roomRequest.room.id, thread, content: toSealedText(content), keyEpoch, attachments }
      const { number } = await roomRequest.api.roomMessages.create(message)
      return {
        success: true,
        messageData: await readMessageOfRoom(roomRequest, number),
        response: 'Message sent successfully',
      }
    },
  )

  app.post<RoomParams>(
    '/req/room/updateMessage/:slug',
    procedureRoute('roomMessages.update', options, { body: changedMessage }),
    async (request, reply) => {
      const roomRequest = await findRoom(request, reply, resolveContext)
      const { content, message_id: number } = parseBody(changedMessage, request)
      const message = await findMessage(roomRequest, number)
      assertNoNewFiles(message, content.attachments ?? [])
      const { id } = message
      await roomRequest.api.roomMessages.update({ id, content: toSealedText(content), keyEpoch })
      return {
        success: true,
        messageData: await readMessageOfRoom(roomRequest, number),
        response: 'Message updated successfully',
      }
    },
  )
}

/** Throws if a file would be added to a sent message. */
function assertNoNewFiles(message: Message, uuids: readonly string[]): void {
  const own = getFiles(message).map(({ uuid }) => uuid)
  const issues = uuids.flatMap((uuid, index) =>
    own.includes(uuid) ? [] : [{ path: ['attachments', index], message: 'cannot be added to a message that was sent' }],
  )
  if (issues.length > 0) throw new Problem('invalid', { issues })
}

/** Reads a message with the read mark of the caller. */
async function readMessageOfRoom(roomRequest: RoomRequest, number: string) {
  const [message, reader] = await Promise.all([findMessage(roomRequest, number), findOwnMember(roomRequest)])
  return toLegacyMessage(message, reader)
}

const request = z.object({
  payload: legacyPayload,
  slug: z.string().nullish(),
  key: z.string(),
  threadIndex: wholeNumber.default(0),
  isUpdate: flag.nullish(),
  messageId: z.string().nullish(),
})

/** Registers the route for answers of models in a room; the answer follows as a message. */
export function registerRoomAnswerRoutes(app: FastifyInstance, options: FacadeOptions): void {
  app.setErrorHandler((thrown, sent, reply) => {
    const failure = toFailure(thrown)
    if (failure.status !== 422 || isNavigation(sent) || isAboutAddress(thrown)) throw thrown
    return reply.code(422).send(toValidationError(failure, sent.id))
  })

  app.post<RoomParams>(
    '/req/room/streamAI/:slug',
    procedureRoute('rooms.ask', options, { body: request }),
    async (sent, reply) => {
      const roomRequest = await findRoom(sent, reply, options.resolveContext)
      const body = await readRequest(request, options.resolveContext, sent, reply)
      if (body.slug && body.slug !== roomRequest.room.slug) throw createSlugProblem()
      const question = {
        ...toQuestion(body.payload),
        ...(await findAnswerTarget(roomRequest, body)),
        key: body.key,
        keyEpoch,
      }
      try {
        await roomRequest.api.rooms.ask({ id: roomRequest.room.id, ...question })
        return { success: true }
      } catch (error) {
        if (!readIssues(error).some(({ path: [root] }) => root === 'model')) throw remapIssues(error, mapRoomErrorPath)
        return reply.code(400).send({ success: false, error: NO_MODEL, code: 'invalid', requestId: sent.id })
      }
    },
  )
}

/** Finds the thread of the answer, or the message that it replaces. */
async function findAnswerTarget(
  roomRequest: RoomRequest,
  { threadIndex, isUpdate, messageId }: z.output<typeof request>,
) {
  if (isUpdate) return { replaces: (await findMessage(roomRequest, messageId ?? '')).id }
  return threadIndex > 0 ? { thread: (await findMessage(roomRequest, `${threadIndex}.000`)).id } : {}
}

const NO_MODEL = 'The requested model is not available.'

const createSlugProblem = () =>
  new Problem('invalid', { issues: [{ path: ['slug'], message: 'must be that of the address' }] })

const isAboutAddress = (thrown: unknown) => readIssues(thrown).some(({ path: [root] }) => root === 'slug')

const names: Record<string, string> = { key: 'key', thread: 'threadIndex', replaces: 'messageId' }

/** Maps a path of our question to the client's request. */
function mapRoomErrorPath(path: Issue['path']): Issue['path'] {
  const name = names[String(path[0])]
  return name ? [name] : mapErrorPath(path)
}
