import type { z } from 'zod'
import { findCallableModel } from '../../entities/catalogue/ai-model.sql.ts'
import { takes } from '../core/body-size.ts'
import type { Caller } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { consumeRateLimit } from '../core/rate-limit.ts'
import { about, router, userWith } from '../core/trpc.ts'
import type { CallableModel, FunctionTool, ModelCall } from '../ports/models.ts'
import { problemsOf, request, textsOf, withAllProblems } from './ai-request.ts'
import { holdFor, maxOutputOf } from './hold.ts'
import { answer, MeteredCall } from './metered-call.ts'

type Asking = Context & { caller: Extract<Caller, { type: 'user' }> }

/** A model the caller may use, asked a question it can take. */
async function callOf(ctx: Asking, { model: modelId, messages }: z.output<typeof request>): Promise<ModelCall> {
  const [model] = await ctx.services.sql(findCallableModel, [modelId, ctx.usage])
  const texts = textsOf(messages)
  const issues = problemsOf(texts, model)
  if (!model || issues.length > 0) throw new Problem('invalid', { issues })
  return { model, messages: texts, tools: toolsOf(ctx, model), userId: ctx.caller.person.id, signal: ctx.signal }
}

/** Each token and each person has an allowance a minute. */
async function consumeAiQuota(ctx: Context): Promise<void> {
  const { current } = ctx.callerContext
  const limit = ctx.services.settings.aiRequestsPerMinute
  if (limit === 0 || current.type !== 'user') return
  const { person, token } = current
  await consumeRateLimit(ctx, [`ai:user:${person.id}`, ...(token ? [`ai:token:${token.id}`] : [])], limit)
}

/** Holds what the call can take, and begins it; a call that a limit bounds is told to answer within it. */
async function begin(ctx: Asking, input: z.output<typeof request>): Promise<MeteredCall> {
  const call = await callOf(ctx, input)
  await consumeAiQuota(ctx)
  const hold = await holdFor(ctx, call)
  const bound = hold.held.tokens !== null && {
    maxOutputTokens: maxOutputOf(call.model, ctx.services.settings.maxOutputTokens),
  }
  return new MeteredCall(ctx, hold, { ...call, ...bound })
}

const asking = userWith('ai').meta(takes('AI request')).use(withAllProblems).input(request)

export const aiRouter = router({
  ask: asking
    .meta(about('Ask a model for its whole answer.', answer))
    .mutation(async ({ ctx, input }) => (await begin(ctx, input)).answer()),

  stream: asking
    .meta({
      ...about('Ask a model for its answer as it comes: pieces of text, then the tokens it took.'),
      streams: true,
    })
    .mutation(async ({ ctx, input }) => (await begin(ctx, input)).stream()),
})

const toolsOf = (ctx: Context, { tools, settings }: CallableModel): FunctionTool[] =>
  (settings?.toolCalling === false ? [] : tools)
    .flatMap((name) => ctx.services.extensions.tools.get(name) ?? [])
    .map((tool) => watched(ctx, tool))

/** A tool that fails is named in the log, without a word of what it was given. */
const watched = ({ services: { log }, requestId }: Context, tool: FunctionTool): FunctionTool => ({
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
