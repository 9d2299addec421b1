import { z } from 'zod'
import type { EmbeddedTexts, EmbedRequest } from '../core/embedder.ts'
import { canNameModel } from '../core/model-binding.ts'
import { type Issue, Problem } from '../core/problems.ts'
import { createTimeLimit } from '../core/timeout.ts'
import { about, userWith, withBodySize } from '../core/trpc.ts'
import type { Adapter } from '../ports/ai/adapters.ts'
import { embeddingInputs, estimateEmbeddingTokens } from '../ports/ai/embeddings.ts'
import type { CallableModel, EmbeddingCall } from '../ports/ai/models.ts'
import type { Reservation } from '../ports/ai/usage-ledger.ts'
import { embeddingBounds } from './call-bounds.ts'
import { CallMeter } from './call-meter.ts'
import { CallRecord } from './call-record.ts'
import { beginAiCall, type ChatContext, findUsableModel } from './chat-context.ts'
import { TOTAL_MS } from './metered-call.ts'
import { createCallSignal } from './model-call.ts'
import { prepareCall } from './prepare-call.ts'
import { modelName } from './request/request.ts'
import { reserveBudget } from './reservation.ts'

/** OpenAI's maximum. */
const MAX_INPUTS = 2048
const MAX_TEXT = 10_000_000
const MAX_TOKENS = 100_000
const MAX_TOKEN_ID = 10_000_000
const MAX_DIMENSIONS = 100_000

const tokenIds = z.array(z.int().min(0).max(MAX_TOKEN_ID)).min(1).max(MAX_TOKENS)

const embeddingRequest = z.strictObject({
  model: modelName,
  input: z
    .array(z.union([z.string().min(1).max(MAX_TEXT), tokenIds], 'must be a text that is not empty, or ids of tokens'))
    .min(1)
    .max(MAX_INPUTS, `must be at most ${MAX_INPUTS} texts`)
    .describe('Texts, or the token ids of texts.'),
  dimensions: z.int().min(1).max(MAX_DIMENSIONS).optional().describe('The number of dimensions of an embedding.'),
})
type EmbeddingRequest = z.output<typeof embeddingRequest>

const embeddingAnswer = z.object({
  embeddings: z.array(z.array(z.number())).describe('One embedding for each text, in their order.'),
  usage: z.object({ inputTokens: z.int().min(0) }),
})

export const embed = userWith('ai')
  .meta(withBodySize('AI request with files'))
  .input(embeddingRequest)
  .meta(about('Embed texts: similar texts get similar lists of numbers.', embeddingAnswer))
  .mutation(async ({ ctx, input }) => createEmbeddings(ctx, input))

async function createEmbeddings(
  ctx: ChatContext,
  request: EmbeddingRequest,
): Promise<z.output<typeof embeddingAnswer>> {
  using _underWay = beginAiCall(ctx)
  const [userId, signal] = [ctx.caller.person.id, createCallSignal(ctx)]
  const { call, reservation } = await prepareCall(ctx, async ({ find, countRequest }) => {
    const model = canNameModel(ctx.caller, request.model)
      ? await findUsableModel(ctx, request.model, 'embedding', find)
      : undefined
    const issues = model
      ? findIssues(request, model)
      : [{ path: ['model'], message: 'is not a model that you may use' }]
    if (!model || issues.length > 0) throw new Problem('invalid', { issues })
    await countRequest()
    const { input, dimensions } = request
    const inputTokens = Math.ceil(estimateEmbeddingTokens(input))
    const call = { model, input, dimensions, inputTokens, userId, signal }
    return { call, reservation: await reserveBudget(ctx, { call, bounds: embeddingBounds }) }
  })
  return await embedWithMeter(ctx, call, reservation)
}

/** The parts of a request that the service itself makes, such as one for knowledge. */
type TextRequest = Pick<EmbedRequest, 'model' | 'dimensions' | 'texts' | 'roomId' | 'signal'>

/**
 * Embeds texts for knowledge. The model of the installation is for everybody, whatever its groups are, and such calls do not count as
 * requests of the person, who has not sent them one by one.
 */
export async function embedTexts(
  ctx: ChatContext,
  { model: name, dimensions, texts, roomId, signal }: TextRequest,
): Promise<EmbeddedTexts> {
  const userId = ctx.caller.person.id
  const { call, reservation } = await prepareCall(ctx, async ({ find }) => {
    const model = await find(name, 'main', 'embedding')
    if (!model || !embeddingInputs[model.adapter as Adapter]) throw new Problem('not_found')
    const input = texts.map((text) => clipText(text, model.limits?.maxInputTokens ?? Infinity))
    const inputTokens = Math.ceil(estimateEmbeddingTokens(input))
    const call = { model, input, dimensions, inputTokens, userId, signal }
    return { call, reservation: await reserveBudget(ctx, { call, bounds: embeddingBounds }, { roomId }) }
  })
  const { embeddings, usage } = await embedWithMeter(ctx, call, reservation)
  return { vectors: embeddings, estimatedTokens: call.inputTokens, billedTokens: usage.inputTokens }
}

/** Cuts a text that has more tokens than the model takes. */
const clipText = (text: string, maxTokens: number): string => {
  const tokens = estimateEmbeddingTokens([text])
  return tokens <= maxTokens ? text : text.slice(0, Math.floor((text.length * maxTokens) / tokens)).toWellFormed()
}

/** Embeds the texts and writes the usage record. */
async function embedWithMeter(
  ctx: ChatContext,
  call: EmbeddingCall,
  reservation: Reservation,
): Promise<z.output<typeof embeddingAnswer>> {
  const { usageLedger, models } = ctx.services.ai
  const { model, signal } = call
  const { pricing } = model
  const meter = new CallMeter({
    reservation,
    pricing,
    bounds: embeddingBounds,
    asksForThoughts: false,
    hasInstructions: false,
    messages: call.input.length,
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
  record.assertCallerPresent()
  using time = createTimeLimit(model.providerSettings.timeouts?.total ?? TOTAL_MS, signal)
  try {
    const vectors = await record.runWithin(() => models.embed({ ...call, signal: time.signal }, meter))
    record.write('completed')
    return { embeddings: vectors, usage: { inputTokens: meter.tokens.input } }
  } catch (error) {
    throw record.fail(error)
  }
}

/** Returns the inputs that the model does not take. Its token limit applies to each text. */
function findIssues({ input }: EmbeddingRequest, { adapter, limits }: CallableModel): Issue[] {
  const kinds = embeddingInputs[adapter as Adapter]
  if (!kinds) return [{ path: ['model'], message: 'is of a provider that embeds nothing' }]
  const maxTokens = limits?.maxInputTokens ?? Infinity
  return input.flatMap((inputText, at) => {
    if (kinds === 'texts' && typeof inputText !== 'string')
      return [{ path: ['input', at], message: 'is ids of tokens, of which this model knows none' }]
    if (estimateEmbeddingTokens([inputText]) <= maxTokens) return []
    const message = `is more input than the model takes, which is ${maxTokens} tokens`
    return [{ path: ['input', at], message, reason: 'too_long' as const }]
  })
}
