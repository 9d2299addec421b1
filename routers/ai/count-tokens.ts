import { z } from 'zod'
import { Problem } from '../core/problems.ts'
import { about, userWith, withBodySize } from '../core/trpc.ts'
import { type CallableModel, type ModelCall, noFiles } from '../ports/ai/models.ts'
import { Approvals } from './approvals/approvals.ts'
import { logFailure } from './call-record.ts'
import { type ChatContext, consumeAiQuota, findUsableModel } from './chat-context.ts'
import { toModelCall } from './model-call.ts'
import { adaptRequest } from './request/adapt-request.ts'
import { InlineDocuments } from './request/inline-documents.ts'
import { countFiles, estimateInputTokens, estimateToolTokens, maxInputTokens } from './request/input-tokens.ts'
import { type AiRequest, type AskedMessage, type ReadMessage, request } from './request/request.ts'
import { withUniqueCallIds } from './request/unique-call-ids.ts'
import { validateRequest } from './request/validate-request.ts'
import { ownTools } from './service-tools.ts'

/** Tokenizers differ, and whoever goes by a count must not run short. */
const MARGIN = 1.5

/** How often a minute the providers count for one person; the rest is estimated. */
const COUNTS_PER_MINUTE = 100

const tokenCount = z.object({
  inputTokens: z.int().min(0),
  estimated: z.boolean().describe('Whether no provider counted: then rather too many than too few.'),
})

export const countTokens = userWith('ai')
  .meta(withBodySize('AI request with files'))
  .input(request)
  .meta(about('Count how many tokens a request takes as input. Nothing of it is billed.', tokenCount))
  .mutation(async ({ ctx, input: given }): Promise<z.output<typeof tokenCount>> => {
    const model = await findUsableModel(ctx, given.model, 'chat')
    const unique = { ...given, messages: [...withUniqueCallIds(given.messages)] }
    const input = model ? adaptRequest(ctx, unique, model) : unique
    const issues = [...validateRequest(input, model, 0, ctx.services.textExtractor), ...attachmentsIn(input)]
    if (!model || issues.length > 0) throw new Problem('invalid', { issues })
    await consumeAiQuota(ctx, 'ai-count')
    using held = new DisposableStack()
    const hold = (bytes: number) => void held.use(ctx.services.aiBytes.acquire(`${ctx.caller.person.id}`, bytes))
    const messages = await new InlineDocuments({ ctx, model, hold }).read(input.messages.map(withoutAttachments))
    const call = toCountCall(ctx, { ...input, messages: [...messages] }, model)
    const counted = await askCount(ctx, call)
    return counted === undefined
      ? { inputTokens: await estimateTokens(call), estimated: true }
      : { inputTokens: counted, estimated: false }
  })

/** Files count as much as providers count for them at most. */
async function estimateTokens({ model, messages, inputTokens }: ModelCall): Promise<number> {
  const files = await countFiles(messages)
  return Math.ceil(MARGIN * inputTokens + maxInputTokens({ model, files }, inputTokens) - inputTokens)
}

function toCountCall(ctx: ChatContext, asked: AiRequest, model: CallableModel): ModelCall {
  const approvals = new Approvals(ctx, {
    person: ctx.caller.person.id,
    conversation: undefined,
    questionPlace: undefined,
  })
  const tools = ownTools(ctx, { model, asked, approvals })
  const said = approvals.allowed.take(asked.messages as ReadMessage[])
  const inputTokens = estimateInputTokens(asked) + estimateToolTokens(tools)
  return toModelCall(ctx, { asked, model, said, tools, inputTokens, files: noFiles })
}

const withoutAttachments = (message: AskedMessage): ReadMessage =>
  message.role === 'user'
    ? { ...message, content: message.content.filter((part) => part.type !== 'attachment') }
    : message

/** What the provider counts; undefined where it does not, fails, or has counted enough for this person. */
async function askCount(ctx: ChatContext, call: ModelCall): Promise<number | undefined> {
  const { limiter, models } = ctx.services
  const { remaining } = await limiter.consume(`ai-count:provider:${ctx.caller.person.id}`, COUNTS_PER_MINUTE)
  if (remaining < 0) return undefined
  try {
    return await models.countTokens(call)
  } catch (error) {
    const { aborted, reason } = call.signal
    if (aborted) throw reason instanceof Problem ? reason : new Problem('client_gone', { cause: error })
    logFailure(ctx, call.model, { error, what: 'the AI provider counted no tokens' })
    return undefined
  }
}

/** What is in them is known only when they are read. */
const attachmentsIn = ({ messages }: AiRequest) =>
  messages.flatMap(({ content }, at) =>
    content.flatMap((part, index) =>
      part.type === 'attachment'
        ? [{ path: ['messages', at, 'content', index], message: 'is an attachment, which cannot be counted' }]
        : [],
    ),
  )
