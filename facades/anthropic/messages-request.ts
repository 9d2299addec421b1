import { z } from 'zod'
import { Problem } from '../../routers/core/problems.ts'
import type { CallParameters, Effort } from '../../routers/ports/ai/models.ts'
import type { CoreRequest } from '../ai/answer.ts'
import { cacheControl, readCacheMark } from '../ai/cache-control.ts'
import { omittedMember } from '../ai/left-out.ts'
import { hint, ignore, passThrough, refuse, translate } from '../ai/members.ts'
import { definedOnly } from '../ai/request-body.ts'
import { validateBy } from '../ai/validate-by.ts'
import { message, texts } from './messages-blocks.ts'
import { Conversation } from './messages-conversation.ts'
import { ToolTable } from './messages-tool-table.ts'
import { tool, toolChoice } from './messages-tools.ts'

/** Thoughts are always returned, because they could not be sent back to the provider otherwise. */
const display = {
  display: hint(z.enum(['summarized', 'omitted']).nullish(), 'thoughts are always returned'),
}

const knownThinking = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('enabled'),
    budget_tokens: translate(z.int(), 'an effort, if the model accepts only that'),
    ...display,
  }),
  z.strictObject({ type: z.enum(['adaptive', 'between_tools']), ...display }),
  z.strictObject({ type: z.literal('disabled'), ...display }),
])

/** Without this member, or with a type of a later version, the settings of the model apply. */
const thinking = validateBy<typeof knownThinking | typeof omittedMember>([knownThinking], (value) => {
  const { type } = (value ?? {}) as { type?: unknown }
  return typeof type !== 'string' || knownThinking._zod.propValues['type']?.has(type) ? knownThinking : omittedMember
})

const jsonFormat = z.strictObject({ type: z.literal('json_schema'), schema: z.record(z.string(), z.unknown()) })

const outputConfig = z.strictObject({
  effort: hint(
    z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
    'the provider receives it unless thinking is disabled',
  ),
  format: translate(jsonFormat.nullish(), 'the provider receives it in its own words'),
})

/** A stored thread in place of the conversation. */
const thread = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('create') }),
  z.strictObject({ type: z.literal('continue'), previous_message_id: z.string() }),
])

/** All standard members of a request for a message. */
export const messageRequest = z.strictObject({
  model: translate(z.string(), 'it names one of `GET /v1/models`'),
  messages: translate(z.array(message), 'instructions go first, wherever they stand'),
  system: translate(texts.nullish(), 'before all other instructions'),
  tools: translate(
    z.array(tool).nullish(),
    'functions; a search of the web is that of the provider, or left out where the model has none',
  ),
  tool_choice: translate(toolChoice.nullish(), 'the provider receives it in its own words'),
  thinking: translate(thinking.nullish(), 'its members say how'),
  output_config: translate(outputConfig.nullish(), 'its members say how'),
  output_format: translate(jsonFormat.nullish(), 'as `output_config.format`'),
  max_tokens: passThrough(z.int(), 'it has the name that the provider knows'),
  stream: translate(z.boolean().nullish(), 'the answer comes as events'),
  temperature: passThrough(z.number().nullish()),
  top_p: passThrough(z.number().nullish()),
  top_k: passThrough(z.int().nullish(), 'it is left out and named if the provider does not support it'),
  stop_sequences: passThrough(z.array(z.string()).nullish()),
  metadata: ignore('the provider does not learn who the caller is'),
  user_profile_id: ignore('the provider does not learn who the caller is'),
  workspace_id: ignore('the provider does not learn who the caller is'),
  service_tier: ignore('the contract with the provider decides', 'auto', 'standard_only'),
  billing_policy: ignore('the contract with the provider decides'),
  fallback_credit_token: ignore('the contract with the provider decides'),
  inference_geo: refuse('is taken as global only: the contract with the provider decides', 'global'),
  speed: ignore('the provider answers as fast as it does', 'standard'),
  cache_control: cacheControl,
  diagnostics: ignore('nothing is kept to compare with'),
  context_management: ignore('the conversation is sent as it is'),
  compaction: ignore('the conversation is sent as it is'),
  betas: ignore('what is known is taken without them'),
  thread: translate(thread.nullish(), 'nothing is kept: one that goes on is not found, and clients send it all again'),
  fallbacks: ignore('fallback models come from the settings'),
  container: refuse('is not supported'),
  mcp_servers: refuse('is not supported: the service calls only tool servers of its own'),
})
type MessageRequest = z.output<typeof messageRequest>

/** A request to count the tokens of a message. */
export const countRequest = messageRequest.omit({ max_tokens: true, stream: true })

type TranslatableRequest = Omit<MessageRequest, 'max_tokens' | 'stream'> & { max_tokens?: number | undefined }

/** The translated request, and the mapping of error paths. */
interface TranslatedRequest {
  input: CoreRequest
  mapPath: Conversation['mapPath']
}

export function toCoreRequest(request: TranslatableRequest): TranslatedRequest {
  if (request.thread?.type === 'continue') throw createUnknownThreadProblem()
  const { model, system, tool_choice: choice } = request
  const format = request.output_config?.format ?? request.output_format
  const tools = new ToolTable(request)
  const { messages, mapPath: mapMessagePath } = new Conversation(request.messages)
  const input: CoreRequest = {
    model,
    messages,
    ...(system?.length && {
      system: system.map((block) => ({ type: 'text', text: block.text, ...readCacheMark(block) })),
    }),
    tools: tools.own,
    ...(tools.optional.length > 0 && { optionalTools: [...tools.optional] }),
    isAdaptable: true,
    ...(choice && { toolChoice: tools.toToolChoice(choice) }),
    ...(format && { format: { schema: format.schema, strict: true } }),
    parameters: toParameters(request),
  }
  return { input, mapPath: (path) => tools.mapPath(mapMessagePath(path)) }
}

/** Clients react to this code by sending the whole conversation. */
const createUnknownThreadProblem = () =>
  new Problem('not_found', { detail: 'The service stores no threads.', meta: { error_code: 'thread_not_found' } })

function toParameters(request: TranslatableRequest): CallParameters {
  const { temperature, top_p: topP, max_tokens: maxTokens, thinking, tool_choice: choice } = request
  const stop = request.stop_sequences?.length ? request.stop_sequences : undefined
  const maxThinkingTokens = thinking?.type === 'enabled' ? thinking.budget_tokens : undefined
  const isOneByOne = choice && 'disable_parallel_tool_use' in choice ? choice.disable_parallel_tool_use : undefined
  const effort = readEffort(request)
  const parallelTools = isOneByOne ? false : undefined
  const thoughts = thinking?.type !== 'disabled' && thinking?.display ? ('auto' as const) : undefined
  const isDecided = thinking?.type === 'adaptive' || thinking?.type === 'between_tools'
  const thinkingMode = isDecided ? ('adaptive' as const) : undefined
  const sampling = definedOnly({ temperature, topP, topK: request.top_k, maxTokens, stop, parallelTools })
  return {
    ...sampling,
    ...readCacheMark(request),
    ...definedOnly({ maxThinkingTokens, effort, thinking: thinkingMode, thoughts }),
  }
}

/** Returns the effort; disabled thinking is `none`, which all providers understand. */
const readEffort = ({ thinking, output_config: output }: TranslatableRequest): Effort | undefined =>
  thinking?.type === 'disabled' ? 'none' : (output?.effort ?? undefined)
