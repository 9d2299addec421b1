import { TRPCError } from '@trpc/server'
import { z } from 'zod'
import { findCallableModel } from '../../entities/catalogue/ai-model.sql.ts'
import { estimateTokens } from '../catalogue/pricing.ts'
import type { Issue } from '../core/problems.ts'
import { middleware } from '../core/trpc.ts'
import type { CallableModel, Message } from '../ports/models.ts'

/** More than a model is sent in one conversation. */
const MAX_MESSAGES = 2000
/** Beyond what a body may be set to. */
const MAX_TEXT = 100_000_000

const message = z.object({
  role: z.enum(['system', 'user', 'assistant'], {
    error: ({ input }) => (input === undefined ? 'is required' : undefined),
  }),
  content: z.object({ text: z.string().min(1).max(MAX_TEXT) }),
})

/** What is sent beside these is dropped, as it always was. */
export const request = z.object({
  model: z
    .string()
    .min(1)
    .max(200, 'is not a model that you may use')
    .describe('The `modelId` of one of the `ai-models`.'),
  messages: z
    .array(message)
    .min(1)
    .max(MAX_MESSAGES, `must have at most ${MAX_MESSAGES} messages`)
    .describe('The conversation so far, which ends with a message of the user.'),
})
export type AiRequest = z.input<typeof request>

export const textsOf = (messages: z.output<typeof message>[]) =>
  messages.map(({ role, content }): Message => ({ role, text: content.text }))

export function problemsOf(messages: readonly Message[], model: CallableModel | undefined): Issue[] {
  const issues: Issue[] = []
  if (!model) issues.push({ path: ['model'], message: 'is not a model that you may use' })
  if (messages.at(-1)?.role !== 'user')
    issues.push({ path: ['messages'], message: 'must end with a message of the user' })
  const most = model?.limits?.maxInputTokens
  if (most && estimateTokens(messages.map(({ text }) => text).join('')) > most) {
    issues.push({ path: ['messages'], message: `is more input than the model takes, which is ${most} tokens` })
  }
  return issues
}

const noMessage: z.output<typeof message> = { role: 'user', content: { text: '' } }
const role = message.shape.role.catch(noMessage.role)
const content = message.shape.content.catch(noMessage.content)

/** As much of a request as can be read; what cannot be is a problem of its own already. */
const readable = z
  .object({
    model: request.shape.model.optional().catch(undefined),
    messages: z.array(z.object({ role, content }).catch(noMessage)).min(1).max(MAX_MESSAGES).catch([noMessage]),
  })
  .catch({ model: undefined, messages: [noMessage] })

/** A request that its schema refuses is told what else is wrong with it, so that all of it can be mended at once. */
export const withAllProblems = middleware(async ({ ctx, getRawInput, next }) => {
  const result = await next()
  if (result.ok || result.error.code !== 'BAD_REQUEST' || !(result.error.cause instanceof z.ZodError)) return result
  const { model: modelId, messages } = readable.parse(await getRawInput())
  const [model] = modelId === undefined ? [] : await ctx.services.sql(findCallableModel, [modelId, ctx.usage])
  const further = problemsOf(textsOf(messages), model)
    .filter(({ path }) => path[0] !== 'model' || modelId !== undefined)
    .map((issue) => ({ code: 'custom' as const, input: undefined, ...issue, path: [...issue.path] }))
  const cause = new z.ZodRealError([...further, ...result.error.cause.issues])
  throw new TRPCError({ code: 'BAD_REQUEST', cause })
})
