import { z } from 'zod'
import { type Issue, Problem } from '../core/problems.ts'
import { createTimeLimit } from '../core/timeout.ts'
import { about, userWith, withBodySize } from '../core/trpc.ts'
import type { Adapter } from '../ports/ai/adapters.ts'
import { embeddingInputs, estimateEmbeddingTokens } from '../ports/ai/embeddings.ts'
import type { CallableModel, EmbeddingCall } from '../ports/ai/models.ts'
import type { Reservation } from '../ports/ai/usage-ledger.ts'
import { CallMeter, noNativeUses } from './call-meter.ts'
import { CallRecord } from './call-record.ts'
import { aiQuotaOnce, type ChatContext, findUsableModel } from './chat-context.ts'
import { TOTAL_MS } from './metered-call.ts'
import { callSignal } from './model-call.ts'
import { model } from './request/request.ts'
import { reserveBudget } from './reservation.ts'

/** As many as OpenAI takes. */
const MAX_INPUTS = 2048
const MAX_TEXT = 10_000_000
const MAX_TOKENS = 100_000
const MAX_TOKEN_ID = 10_000_000
const MAX_DIMENSIONS = 100_000

const tokenIds = z.array(z.int().min(0).max(MAX_TOKEN_ID)).min(1).max(MAX_TOKENS)

const embedding = z.strictObject({
  model,
  input: z
    .array(z.union([z.string().min(1).max(MAX_TEXT), tokenIds], 'must be a text that is not empty, or ids of tokens'))
    .min(1)
    .max(MAX_INPUTS, `must be at most ${MAX_INPUTS} texts`)
    .describe('Texts, or the ids of the tokens of texts.'),
  dimensions: z.int().min(1).max(MAX_DIMENSIONS).optional().describe('How many numbers an embedding is to have.'),
})
type EmbeddingRequest = z.output<typeof embedding>

const embeddings = z.object({
  embeddings: z.array(z.array(z.number())).describe('One for each text, in their order.'),
  usage: z.object({ inputTokens: z.int().min(0) }),
})

export const embed = userWith('ai')
  .meta(withBodySize('AI request with files'))
  .input(embedding)
  .meta(
    about('Turn texts into numbers, so that those of texts that mean the same are close to each other.', embeddings),
  )
  .mutation(async ({ ctx, input }) => embeddingsFor(ctx, input))

async function embeddingsFor(ctx: ChatContext, asked: EmbeddingRequest): Promise<z.output<typeof embeddings>> {
  const consumeQuota = aiQuotaOnce(ctx)
  const [userId, signal] = [ctx.caller.person.id, callSignal(ctx)]
  const { call, reservation } = await ctx.services.callableModels.prepare(async (find) => {
    const model = await findUsableModel(ctx, asked.model, 'embedding', find)
    const issues = model
      ? problemsWith(asked, model)
      : [{ path: ['model'], message: 'is not a model that you may use' }]
    if (!model || issues.length > 0) throw new Problem('invalid', { issues })
    await consumeQuota()
    const { input, dimensions } = asked
    const inputTokens = Math.ceil(estimateEmbeddingTokens(input))
    const call = { model, input, dimensions, inputTokens, userId, signal }
    return { call, reservation: await reserveBudget(ctx, call) }
  })
  return embedMetered(ctx, call, reservation)
}

/** Makes the call, and leaves its record. */
async function embedMetered(
  ctx: ChatContext,
  call: EmbeddingCall,
  reservation: Reservation,
): Promise<z.output<typeof embeddings>> {
  const { usageLedger, models } = ctx.services
  const { model, signal } = call
  const { pricing } = model
  const meter = new CallMeter({
    ...{
      reservation,
      pricing,
      maxOutput: 0,
      messages: call.input.length,
      mostUses: noNativeUses,
      mostInput: (estimate) => estimate,
    },
    extend: usageLedger.extend,
  })
  const record = new CallRecord(ctx, {
    operation: 'embeddings',
    reservation,
    meter,
    model,
    signal,
    inputPath: ['input'],
  })
  record.assertCaller()
  using time = createTimeLimit(model.providerSettings.timeouts?.total ?? TOTAL_MS, signal)
  try {
    const found = await record.runWithin(() => models.embed({ ...call, signal: time.signal }, meter))
    record.write('completed')
    return { embeddings: found, usage: { inputTokens: meter.tokens.input } }
  } catch (error) {
    throw record.fail(error)
  }
}

/** What this model does not take: its limit is that of each text. */
function problemsWith({ input }: EmbeddingRequest, { adapter, limits }: CallableModel): Issue[] {
  const kinds = embeddingInputs[adapter as Adapter]
  if (!kinds) return [{ path: ['model'], message: 'is of a provider that embeds nothing' }]
  const most = limits?.maxInputTokens ?? Infinity
  return input.flatMap((one, at) => {
    if (kinds === 'texts' && typeof one !== 'string')
      return [{ path: ['input', at], message: 'is ids of tokens, of which this model knows none' }]
    if (estimateEmbeddingTokens([one]) <= most) return []
    const message = `is more input than the model takes, which is ${most} tokens`
    return [{ path: ['input', at], message, reason: 'too_long' as const }]
  })
}
