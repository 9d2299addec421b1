import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { Problem } from '../../../routers/core/problems.ts'
import { type FacadeOptions, routeTo } from '../../http/procedures.ts'
import { messageOf, olderMessage } from './ai-request.ts'
import { bodyIn } from './errors.ts'
import { type InRoom, messageIn, roomOf } from './find.ts'
import { flag, whole } from './shapes.ts'

const params = z.object({
  temp: z.number().optional(),
  top_p: z.number().optional(),
  max_tokens: z.number().optional(),
  max_thinking_tokens: z.number().optional(),
})

const request = z.object({
  payload: z.object({
    model: z.string(),
    messages: z.array(olderMessage),
    tools: z.array(z.string()).nullish(),
    params: params.nullish(),
  }),
  slug: z.string().nullish(),
  key: z.string(),
  threadIndex: whole.default(0),
  isUpdate: flag.nullish(),
  messageId: z.string().nullish(),
})
type Request = z.output<typeof request>

/** The only key of a room that older front ends know is its first. */
const keyEpoch = 0

/** Has a model answer in a room; the answer comes as a message behind this one. */
export function roomAnswers(app: FastifyInstance, options: FacadeOptions): void {
  app.post<InRoom>(
    '/req/room/streamAI/:slug',
    routeTo('rooms.ask', options, { body: request }),
    async (sent, reply) => {
      const at = await roomOf(sent, reply, options.contextOf)
      const body = bodyIn(request, sent)
      const { slug, key, threadIndex, isUpdate, messageId } = body
      if (slug && slug !== at.room.slug) throw wrongSlug()
      const replaced = isUpdate ? (await messageIn(at, messageId ?? '')).id : null
      const thread = !isUpdate && threadIndex > 0 ? (await messageIn(at, `${threadIndex}.000`)).id : null
      const asked = askedIn(body)
      await at.api.rooms.ask({ id: at.room.id, ...asked, key, keyEpoch, thread, replaces: replaced })
      return { success: true }
    },
  )
}

const askedIn = (body: Request) => ({
  model: body.payload.model,
  messages: body.payload.messages.map(messageOf),
  parameters: parametersOf(body),
  optionalParameters: true,
  ...(body.payload.tools && { modelTools: body.payload.tools }),
})

function parametersOf({ payload: { params } }: Request) {
  const { temp, top_p, max_tokens, max_thinking_tokens } = params ?? {}
  return { temperature: temp, topP: top_p, maxTokens: max_tokens, maxThinkingTokens: max_thinking_tokens }
}

const wrongSlug = () => new Problem('invalid', { issues: [{ path: ['slug'], message: 'must be that of the address' }] })
