import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Problem } from '../../../routers/core/problems.ts'
import { toFailure } from '../../http/failure.ts'
import type { ContextResolver } from '../../http/procedures.ts'
import { parseAs } from './errors.ts'
import { findRoom, type RoomParams, type RoomRequest } from './find.ts'
import type { Message } from './shapes.ts'

/** Names of the members for the message number and the thread number. */
interface Fields {
  message: string
  thread: string
}

const roomFields: Fields = { message: 'message_id', thread: 'threadId' }
const answerFields: Fields = { message: 'messageId', thread: 'threadIndex' }

/** Routes that accept message ids, by their paths. */
const translatedRoutes = new Map<string | undefined, Fields>([
  ['/req/streamAI', answerFields],
  ['/req/room/sendMessage/:slug', roomFields],
  ['/req/room/updateMessage/:slug', roomFields],
  ['/req/room/readstat/:slug', roomFields],
  ['/req/room/streamAI/:slug', answerFields],
])

type Body = Record<string, unknown>

const rowId = z.coerce.number().int().max(Number.MAX_SAFE_INTEGER)
const messageId = rowId.min(1).describe('The id of the message, in place of its number.')
const parentId = rowId.min(0).describe('The id of the message that is answered; 0 for none.')

const ids = z.object({ id: messageId.optional(), thread_id: parentId.optional() })

/** Adds the v2 variant with ids to the body schema of a route. */
export function addIdVariant(url: string, body: z.ZodType | undefined): z.ZodType | undefined {
  const fields = translatedRoutes.get(url)
  if (!fields || !url.includes(':slug') || !(body instanceof z.ZodObject)) return body
  const { [fields.message]: message, [fields.thread]: thread, ...others } = body.shape
  const byId = z.object({
    ...others,
    version: z.literal('v2'),
    ...(message && { id: message.isOptional() ? ids.shape.id : messageId }),
    ...(thread && { thread_id: ids.shape.thread_id }),
  })
  return z.union([body, byId])
}

/**
 * Creates a hook that translates message ids (`"version": "v2"`) to numbers before the handlers run. Requests without a
 * version stay unchanged; ids only count within the room of the request.
 */
export const translateIds =
  (resolveContext: ContextResolver) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const fields = translatedRoutes.get(request.routeOptions.url)
    const body = dropEmptyMembers(request.body)
    if (!fields || body['version'] === undefined) return
    const { version, id: _, thread_id: __, ...rest } = body
    if (version !== 'v2')
      throw createFieldProblem('version', `Unsupported API version: ${String(version).slice(0, 40)}`, 'must be v2')
    for (const name of Object.values(fields))
      if (Object.hasOwn(rest, name)) throw createFieldProblem(name, `The ${name} field is prohibited.`, 'is prohibited')
    const selectedIds = parseAs(ids, body)
    const roomRequest = await findRoomOfRequest(request, reply, resolveContext)
    request.body = { ...rest, ...(await findNumbers(roomRequest, selectedIds, fields)) }
  }

/** Drops members that are null or empty, which legacy front ends use for missing ones. */
const dropEmptyMembers = (body: unknown): Body =>
  Object.fromEntries(Object.entries((body ?? {}) as Body).filter(([, value]) => value !== null && value !== ''))

type Ids = z.output<typeof ids>

async function findNumbers(
  roomRequest: RoomRequest | undefined,
  { id, thread_id }: Ids,
  fields: Fields,
): Promise<Body> {
  const message = id ? await findMessageById(roomRequest, id, ['id', 'Message']) : undefined
  const parent = thread_id ? await findMessageById(roomRequest, thread_id, ['thread_id', 'Parent message']) : undefined
  return {
    ...(message && { [fields.message]: message.number }),
    [fields.thread]: Number(parent?.number.split('.')[0] ?? 0),
  }
}

/** Finds the room of a request; undefined without one. */
const findRoomOfRequest = (request: FastifyRequest, reply: FastifyReply, resolveContext: ContextResolver) =>
  'slug' in (request.params as object)
    ? findRoom(request as FastifyRequest<RoomParams>, reply, resolveContext)
    : undefined

/** Finds a message of the room; one of another room is not found, whether visible or not. */
async function findMessageById(
  roomRequest: RoomRequest | undefined,
  id: number,
  [field, what]: [string, string],
): Promise<Message> {
  const message = await roomRequest?.api.roomMessages.get({ id: String(id) }).catch((error: unknown) => {
    // An impossible id is not found, too.
    if (['not_found', 'invalid'].includes(toFailure(error).code)) return undefined
    throw error
  })
  const isHere = (message?.relations?.['room'] as { id: string } | undefined)?.id === roomRequest?.room.id
  if (!message || !isHere || message.deletedAt)
    throw createFieldProblem(field, `${what} with ID ${id} not found`, 'must be the id of a message of this room')
  return message
}

const createFieldProblem = (field: string, detail: string, phrase: string) =>
  new Problem('invalid', { detail, issues: [{ path: [field], message: phrase }] })
