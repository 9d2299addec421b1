import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { issuesOf } from '../../../routers/core/issues/issues.ts'
import { Problem } from '../../../routers/core/problems.ts'
import { readRequest } from '../../ai/body.ts'
import { remapIssues } from '../../ai/error-paths.ts'
import { failureOf } from '../../http/failure.ts'
import { isNavigation } from '../../http/navigation.ts'
import { type FacadeOptions, routeTo } from '../../http/procedures.ts'
import { validationError } from '../errors.ts'
import { fieldAt, olderPayload, questionOf } from './ai-request.ts'
import { type InRoom, messageIn, type RoomRequest, roomOf } from './find.ts'
import { flag, whole } from './shapes.ts'

const request = z.object({
  payload: olderPayload,
  slug: z.string().nullish(),
  key: z.string(),
  threadIndex: whole.default(0),
  isUpdate: flag.nullish(),
  messageId: z.string().nullish(),
})

/** The only key of a room that older front ends know is its first. */
const keyEpoch = 0

/** Has a model answer in a room; the answer comes as a message behind this one. */
export function roomAnswers(app: FastifyInstance, options: FacadeOptions): void {
  app.setErrorHandler((thrown, sent, reply) => {
    const failure = failureOf(thrown)
    if (failure.status !== 422 || isNavigation(sent) || isOfAddress(thrown)) throw thrown
    return reply.code(422).send(validationError(failure, sent.id))
  })

  app.post<InRoom>(
    '/req/room/streamAI/:slug',
    routeTo('rooms.ask', options, { body: request }),
    async (sent, reply) => {
      const at = await roomOf(sent, reply, options.contextOf)
      const body = await readRequest(request, options.contextOf, sent, reply)
      if (body.slug && body.slug !== at.room.slug) throw wrongSlug()
      const asked = { ...questionOf(body.payload), ...(await placeOf(at, body)), key: body.key, keyEpoch }
      try {
        await at.api.rooms.ask({ id: at.room.id, ...asked })
        return { success: true }
      } catch (error) {
        if (!issuesOf(error).some(({ path: [root] }) => root === 'model')) throw remapIssues(error, fieldInRoomAt)
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

const isOfAddress = (thrown: unknown) => issuesOf(thrown).some(({ path: [root] }) => root === 'slug')

const names: Record<string, string> = { key: 'key', thread: 'threadIndex', replaces: 'messageId' }

/** A path within our question as one within their request. */
function fieldInRoomAt(path: readonly (string | number)[]): readonly (string | number)[] {
  const name = names[String(path[0])]
  return name ? [name] : fieldAt(path)
}
