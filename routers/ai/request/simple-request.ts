import { TRPCError } from '@trpc/server'
import { z } from 'zod'
import type { Issue } from '../../core/problems.ts'
import { middleware } from '../../core/trpc.ts'
import { type ChatContext, findUsableModel } from '../chat-context.ts'
import { estimateInputTokens } from './input-tokens.ts'
import { text } from './parts.ts'
import { type AiRequest, conversation, MAX_MESSAGES, model } from './request.ts'
import { toolReferences } from './tool-references.ts'
import { validateRequest } from './validate-request.ts'

const message = z.strictObject({
  role: z.enum(['system', 'user', 'assistant'], {
    error: ({ input }) => (input === undefined ? 'is required' : undefined),
  }),
  content: z.strictObject({ text }),
})

/** A conversation in text alone. */
export const question = z.strictObject({
  model,
  messages: z
    .array(message)
    .min(1)
    .max(MAX_MESSAGES, `must have at most ${MAX_MESSAGES} messages`)
    .describe('The conversation so far, which ends with a message of the user.'),
  tools: toolReferences.optional(),
  conversation: conversation.optional(),
})
type Question = z.output<typeof question>

export const toAiRequest = ({ model, messages, tools, conversation }: Question): AiRequest => ({
  model,
  messages: messages.map(({ role, content }) => ({ role, content: [{ type: 'text', text: content.text }] })),
  tools: [],
  ...(tools && { modelTools: tools }),
  ...(conversation !== undefined && { conversation }),
  parameters: {},
})

/** What is wrong with the request that was made of a question, by the names of the question. */
export const toQuestionPath = ({ path: [first, ...rest], ...issue }: Issue): Issue => ({
  ...issue,
  path: first === undefined ? [] : [first === 'modelTools' ? 'tools' : first, ...rest],
})

const noMessage: z.output<typeof message> = { role: 'user', content: { text: '' } }
const role = message.shape.role.catch(noMessage.role)
const content = message.shape.content.catch(noMessage.content)

/** As much of a question as can be read; what cannot be is a problem of its own already. */
const readable = z
  .object({
    model: question.shape.model.catch(''),
    messages: z.array(z.object({ role, content }).catch(noMessage)).min(1).max(MAX_MESSAGES).catch([noMessage]),
    tools: toolReferences.optional().catch(undefined),
  })
  .catch({ model: '', messages: [noMessage] })

/** A question that its schema refuses is told what else is wrong with it, so that all of it can be mended at once. */
export const withAllProblems = middleware(async ({ ctx, getRawInput, next }) => {
  const result = await next()
  if (result.ok || result.error.code !== 'BAD_REQUEST' || !(result.error.cause instanceof z.ZodError)) return result
  const asked = readable.parse(await getRawInput())
  const model = asked.model === '' ? undefined : await findUsableModel(ctx as ChatContext, asked.model, 'chat')
  const request = toAiRequest(asked)
  const further = validateRequest(request, model, estimateInputTokens(request))
    .map(toQuestionPath)
    .filter(({ path }) => path[0] !== 'model' || asked.model !== '')
    .map((issue) => ({ code: 'custom' as const, input: undefined, ...issue, path: [...issue.path] }))
  const cause = new z.ZodRealError([...further, ...result.error.cause.issues])
  throw new TRPCError({ code: 'BAD_REQUEST', cause })
})
