import { z } from 'zod'
import { findCallableModel } from '../entities/ai-model-statements.ts'
import { takes } from './body-size.ts'
import type { Caller } from './caller.ts'
import type { Context } from './context.ts'
import type { FunctionTool } from './extension.ts'
import { answer, MeteredCall } from './metered-call.ts'
import type { CallableModel, Message, ModelCall } from './model-gateway.ts'
import { estimateTokens } from './pricing.ts'
import { type Issue, Problem } from './problems.ts'
import { takeAllowance } from './rate-limit.ts'
import { about, router, userWho } from './trpc.ts'

/** More than a model is sent in one conversation. */
const MAX_MESSAGES = 5000
/** Beyond what a body may be set to. */
const MAX_TEXT = 100_000_000

const message = z.object({
  role: z.enum(['system', 'user', 'assistant'], {
    error: ({ input }) => (input === undefined ? 'is required' : undefined),
  }),
  content: z.object({ text: z.string().min(1).max(MAX_TEXT) }),
})

/** What is sent beside these is dropped, as it always was. */
const request = z.object({
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

type Asking = Context & { who: Extract<Caller, { type: 'user' }> }

/** A model the caller may use, asked a question it can take. */
async function callOf(ctx: Asking, { model: modelId, messages }: z.output<typeof request>): Promise<ModelCall> {
  const [model] = await ctx.sql(findCallableModel, [modelId, ctx.usage])
  const texts = messages.map(({ role, content }): Message => ({ role, text: content.text }))
  const issues = problemsOf(texts, model)
  if (!model || issues.length > 0) throw new Problem('invalid', { issues })
  return { model, messages: texts, tools: toolsOf(ctx, model), userId: ctx.who.person.id, signal: ctx.signal }
}

/** Each token and each person has an allowance a minute. */
async function takeOne(ctx: Context): Promise<void> {
  const { current } = ctx.caller
  const limit = ctx.settings.aiRequestsPerMinute
  if (limit === 0 || current.type !== 'user') return
  const { person, token } = current
  await takeAllowance(ctx, [`ai:user:${person.id}`, ...(token ? [`ai:token:${token.id}`] : [])], limit)
}

/** One step for both: each copies the whole context. */
const asking = userWho('ai')
  .meta(takes('AI request'))
  .input(request)
  .use(async ({ ctx, input, next }) => {
    const call = await callOf(ctx, input)
    await takeOne(ctx)
    return next({ ctx: { call } })
  })

export const aiRouter = router({
  ask: asking
    .meta(about('Ask a model for its whole answer.', answer))
    .mutation(({ ctx }) => new MeteredCall(ctx, ctx.who, ctx.call).answer()),

  stream: asking
    .meta(about('Ask a model for its answer as it comes: pieces of text, then the tokens it took.'))
    .mutation(({ ctx }) => new MeteredCall(ctx, ctx.who, ctx.call).parts()),
})

function problemsOf(messages: readonly Message[], model: CallableModel | undefined): Issue[] {
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

const toolsOf = (ctx: Context, { tools }: CallableModel): FunctionTool[] =>
  tools.flatMap((name) => ctx.extensions.tools.get(name) ?? []).map((tool) => watched(ctx, tool))

/** A tool that fails is named in the log, without a word of what it was given. */
const watched = ({ log, requestId }: Context, tool: FunctionTool): FunctionTool => ({
  ...tool,
  async run(input, signal) {
    try {
      return await tool.run(input, signal)
    } catch (error) {
      log.warn(
        { requestId, tool: tool.name, error: error instanceof Error ? error.name : typeof error },
        'a tool failed',
      )
      throw error
    }
  },
})
