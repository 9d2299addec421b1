import { TRPCError } from '@trpc/server'
import { z } from 'zod'
import type { Issue } from '../../core/problems.ts'
import { middleware } from '../../core/trpc.ts'
import type { ChatContext } from '../chat-context.ts'
import { resolveAssistant } from '../resolve-assistant.ts'
import { findRequestedModel } from '../successor.ts'
import { estimateInputTokens } from './input-tokens.ts'
import { text } from './parts.ts'
import { type AiRequest, conversationName, MAX_MESSAGES, modelName } from './request.ts'
import { toolReferences } from './tool-references.ts'
import { validateRequest } from './validate-request.ts'

const message = z.strictObject({
  role: z.enum(['system', 'user', 'assistant'], {
    error: ({ input }) => (input === undefined ? 'is required' : undefined),
  }),
  content: z.strictObject({ text }),
})

/** A conversation of plain text. */
export const simpleRequest = z.strictObject({
  model: modelName,
  messages: z
    .array(message)
    .min(1)
    .max(MAX_MESSAGES, `must have at most ${MAX_MESSAGES} messages`)
    .describe('The conversation so far, which ends with a message of the user.'),
  tools: toolReferences.optional(),
  conversation: conversationName.optional(),
})
type SimpleRequest = z.output<typeof simpleRequest>

export const toAiRequest = ({ model, messages, tools, conversation }: SimpleRequest): AiRequest => ({
  model,
  messages: messages.map(({ role, content }) => ({ role, content: [{ type: 'text', text: content.text }] })),
  tools: [],
  ...(tools && { modelTools: tools }),
  ...(conversation !== undefined && { conversation }),
  parameters: {},
})

/** Translates the path of an issue from `AiRequest` to the simple request. */
export const toSimplePath = ({ path: [first, ...rest], ...issue }: Issue): Issue => ({
  ...issue,
  path: first === undefined ? [] : [first === 'modelTools' ? 'tools' : first, ...rest],
})

const emptyMessage: z.output<typeof message> = { role: 'user', content: { text: '' } }
const role = message.shape.role.catch(emptyMessage.role)
const content = message.shape.content.catch(emptyMessage.content)

/** Parses as much of a request as possible; invalid parts are reported by the strict schema. */
const lenientRequest = z
  .object({
    model: simpleRequest.shape.model.catch(''),
    messages: z.array(z.object({ role, content }).catch(emptyMessage)).min(1).max(MAX_MESSAGES).catch([emptyMessage]),
    tools: toolReferences.optional().catch(undefined),
  })
  .catch({ model: '', messages: [emptyMessage] })

/** Adds the issues of later checks to a schema error, so that the caller can fix all of them at once. */
export const withAllIssues = middleware(async ({ ctx, getRawInput, next }) => {
  const result = await next()
  if (result.ok || result.error.code !== 'BAD_REQUEST' || !(result.error.cause instanceof z.ZodError)) return result
  const readableRequest = lenientRequest.parse(await getRawInput())
  const request = await resolveAssistant(ctx as ChatContext, toAiRequest(readableRequest))
  const found = request.model === '' ? undefined : await findRequestedModel(ctx as ChatContext, request)
  const model = found?.model
  const furtherIssues = validateRequest(request, model, estimateInputTokens(request))
    .map(toSimplePath)
    .filter(({ path }) => path[0] !== 'model' || readableRequest.model !== '')
    .map((issue) => ({ code: 'custom' as const, input: undefined, ...issue, path: [...issue.path] }))
  const cause = new z.ZodRealError([...furtherIssues, ...result.error.cause.issues])
  throw new TRPCError({ code: 'BAD_REQUEST', cause })
})
