import { z } from 'zod'
import type { AnswerKnowledge } from '../assistants/knowledge/answer-knowledge.ts'
import { Problem } from '../core/problems.ts'
import { about, userWith, withBodySize } from '../core/trpc.ts'
import { type CallableModel, type ModelCall, noFiles } from '../ports/ai/models.ts'
import { Approvals } from './approvals/approvals.ts'
import { computeMaxInputTokens } from './call-bounds.ts'
import { logFailure } from './call-record.ts'
import { beginAiCall, type ChatContext, consumeAiQuota } from './chat-context.ts'
import { toModelCall } from './model-call.ts'
import { adaptRequest } from './request/adapt-request.ts'
import { addKnowledge, openAssistantKnowledge } from './request/assistant-knowledge.ts'
import { InlineDocuments } from './request/inline-documents.ts'
import { countFiles, estimateInputTokens, estimateToolTokens } from './request/input-tokens.ts'
import { type AiRequest, aiRequest, type RequestMessage, type ResolvedMessage } from './request/request.ts'
import { selectModelTools } from './request/tool-references.ts'
import { withUniqueCallIds } from './request/unique-call-ids.ts'
import { validateRequest } from './request/validate-request.ts'
import { resolveAssistant } from './resolve-assistant.ts'
import { listServiceTools } from './service-tools.ts'
import { findRequestedModel } from './successor.ts'

/** Safety margin of our estimates: tokenizers differ, and callers who plan by a count must not run out of tokens. */
const MARGIN = 1.5

/** Maximum number of counts per minute and person that providers make; further counts are estimated. */
const COUNTS_PER_MINUTE = 100

const tokenCount = z.object({
  inputTokens: z.int().min(0),
  estimated: z
    .boolean()
    .describe('True if the number is an estimate, because no provider counted. It is rather too high than too low.'),
})

export const countTokens = userWith('ai')
  .meta(withBodySize('AI request with files'))
  .input(aiRequest)
  .meta(about('Count how many tokens a request takes as input. Nothing of it is billed.', tokenCount))
  .mutation(async ({ ctx, input: callerRequest }): Promise<z.output<typeof tokenCount>> => {
    const resolved = await resolveAssistant(ctx, callerRequest)
    const model = (await findRequestedModel(ctx, resolved))?.model
    const unique = { ...resolved, messages: [...withUniqueCallIds(resolved.messages)] }
    const adapted = model ? adaptRequest(ctx, unique, model) : unique
    const knowledge = model && (await openAssistantKnowledge(ctx, adapted, model))
    const input = knowledge ? addKnowledge(adapted, knowledge) : adapted
    const issues = [
      ...validateRequest(input, model, 0, ctx.services.files.textExtractor),
      ...findAttachmentIssues(input),
    ]
    if (!model || issues.length > 0) throw new Problem('invalid', { issues })
    await consumeAiQuota(ctx, 'ai-count')
    using _underWay = beginAiCall(ctx)
    using memory = new DisposableStack()
    const reserveBytes = (bytes: number) =>
      void memory.use(ctx.services.limits.aiBytes.acquire(`${ctx.caller.person.id}`, bytes))
    const messages = await new InlineDocuments({ ctx, model, reserveBytes }).read(
      input.messages.map(withoutAttachments),
    )
    const call = toCountCall(ctx, { ...input, messages: [...messages] }, model, knowledge)
    // Nobody knows the passages before the search, which a count does not make.
    const providerCount = knowledge?.search ? undefined : await countByProvider(ctx, call)
    return providerCount === undefined
      ? { inputTokens: await estimateTokens(call), estimated: true }
      : { inputTokens: providerCount, estimated: false }
  })

/** Estimates the tokens of a call. Files count with the provider's maximum. */
async function estimateTokens({ model, messages, inputTokens }: ModelCall): Promise<number> {
  const files = await countFiles(messages)
  return Math.ceil(MARGIN * inputTokens + computeMaxInputTokens({ model, files }, inputTokens) - inputTokens)
}

function toCountCall(
  ctx: ChatContext,
  request: AiRequest,
  model: CallableModel,
  knowledge: AnswerKnowledge | undefined,
): ModelCall {
  const approvals = new Approvals(ctx, {
    person: ctx.caller.person.id,
    conversation: undefined,
    approvalMode: undefined,
  })
  const selected = selectModelTools(model, request)
  const tools = listServiceTools(ctx, { model, request, selected, approvals, knowledge })
  const messages = approvals.approvedCalls.insertResults(request.messages as ResolvedMessage[])
  const inputTokens = estimateInputTokens(request) + estimateToolTokens(tools) + (knowledge?.search?.maxTokens ?? 0)
  const { nativeTools } = selected
  return toModelCall(ctx, { request, model, messages, tools, nativeTools, inputTokens, files: noFiles })
}

const withoutAttachments = (message: RequestMessage): ResolvedMessage =>
  message.role === 'user'
    ? { ...message, content: message.content.filter((part) => part.type !== 'attachment') }
    : message

/** Returns the provider's count, or undefined if it cannot count, fails, or the person's quota is used up. */
async function countByProvider(ctx: ChatContext, call: ModelCall): Promise<number | undefined> {
  const { limiter } = ctx.services.limits
  const { models } = ctx.services.ai
  const { remaining } = await limiter.consume(`ai-count:provider:${ctx.caller.person.id}`, COUNTS_PER_MINUTE)
  if (remaining < 0) return undefined
  try {
    return await models.countTokens(call)
  } catch (error) {
    const { aborted, reason } = call.signal
    if (aborted) throw reason instanceof Problem ? reason : new Problem('client_gone', { cause: error })
    logFailure(ctx, call.model, { error, summary: 'the AI provider counted no tokens' })
    return undefined
  }
}

/** Returns an issue for each attachment, because its contents are not read for a count. */
const findAttachmentIssues = ({ messages }: AiRequest) =>
  messages.flatMap(({ content }, at) =>
    content.flatMap((part, index) =>
      part.type === 'attachment'
        ? [{ path: ['messages', at, 'content', index], message: 'is an attachment, which cannot be counted' }]
        : [],
    ),
  )
