import { z } from 'zod'
import { type Issue, Problem } from '../../routers/core/problems.ts'
import type { CallParameters, Effort } from '../../routers/ports/ai/models.ts'
import type { ToolChoice } from '../../routers/ports/ai/tools.ts'
import type { CoreRequest } from '../ai/answer.ts'
import { ignore, ignoreSilently, passThrough, refuse, translate } from '../ai/members.ts'
import { definedOnly } from '../ai/request-body.ts'
import { type customTool, message, texts, tool } from './messages-blocks.ts'
import { Conversation } from './messages-conversation.ts'

const parallelOption = { disable_parallel_tool_use: z.boolean().nullish() }

const toolChoice = z.discriminatedUnion('type', [
  z.strictObject({ type: z.enum(['auto', 'any']), ...parallelOption }),
  z.strictObject({ type: z.literal('tool'), name: z.string(), ...parallelOption }),
  z.strictObject({ type: z.literal('none'), ...parallelOption }),
])

/** Thoughts are always returned, because they could not be sent back to the provider otherwise. */
const display = {
  display: translate(z.enum(['summarized', 'omitted']).nullish(), 'thoughts are always returned'),
}

/** Without this member the settings of the model apply. */
const thinking = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('enabled'),
    budget_tokens: translate(z.int(), 'an effort, if the model accepts only that'),
    ...display,
  }),
  z.strictObject({ type: z.enum(['adaptive', 'between_tools']), ...display }),
  z.strictObject({ type: z.literal('disabled'), ...display }),
])

const jsonFormat = z.strictObject({ type: z.literal('json_schema'), schema: z.record(z.string(), z.unknown()) })

const outputConfig = z.strictObject({
  effort: passThrough(z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(), 'unless thinking is disabled'),
  format: translate(jsonFormat.nullish(), 'in the words of the provider'),
})

/** A stored thread in place of the conversation. */
const thread = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('create') }),
  z.strictObject({ type: z.literal('continue'), previous_message_id: z.string() }),
])

/** All standard members of a request for a message. */
export const messageRequest = z.strictObject({
  model: translate(z.string(), 'one of `GET /v1/models`'),
  messages: translate(z.array(message), 'instructions go first, wherever they stand'),
  system: translate(texts.nullish(), 'before all other instructions'),
  tools: translate(
    z.array(tool).nullish(),
    'functions; a search of the web is that of the provider, or left out where the model has none',
  ),
  tool_choice: translate(toolChoice.nullish(), 'in the words of the provider'),
  thinking: translate(thinking.nullish(), 'see its members'),
  output_config: translate(outputConfig.nullish(), 'see its members'),
  output_format: translate(jsonFormat.nullish(), 'as `output_config.format`'),
  max_tokens: passThrough(z.int(), 'in the word that the provider has'),
  stream: translate(z.boolean().nullish(), 'the answer comes as events'),
  temperature: passThrough(z.number().nullish()),
  top_p: passThrough(z.number().nullish()),
  top_k: passThrough(z.int().nullish(), 'omitted and reported if the provider does not support it'),
  stop_sequences: passThrough(z.array(z.string()).nullish()),
  metadata: ignoreSilently('the provider does not learn who the caller is'),
  user_profile_id: ignoreSilently('the provider does not learn who the caller is'),
  workspace_id: ignoreSilently('the provider does not learn who the caller is'),
  service_tier: ignore('the contract with the provider decides', 'auto', 'standard_only'),
  billing_policy: ignore('the contract with the provider decides'),
  fallback_credit_token: ignoreSilently('the contract with the provider decides'),
  inference_geo: refuse('is taken as global only: the contract with the provider decides', 'global'),
  speed: ignore('the provider answers as fast as it does', 'standard'),
  cache_control: ignoreSilently('the provider decides what it caches'),
  diagnostics: ignoreSilently('nothing is kept to compare with'),
  context_management: ignore('the conversation is sent as it is'),
  compaction: ignore('the conversation is sent as it is'),
  betas: ignoreSilently('what is known is taken without them'),
  thread: translate(thread.nullish(), 'nothing is kept: one that goes on is not found, and clients send it all again'),
  fallbacks: ignore('fallback models come from the settings'),
  container: refuse('is not supported'),
  mcp_servers: refuse('are not called for callers: the service has its own'),
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
  const { model, system, tools, tool_choice: choice } = request
  const format = request.output_config?.format ?? request.output_format
  const customTools = (tools ?? []).filter(isCustomTool)
  const optionalTools = listSearchTools(tools ?? [])
  const { messages, mapPath: mapMessagePath } = new Conversation(request.messages)
  const input: CoreRequest = {
    model,
    messages,
    ...(system?.length && { system: system.map(({ text }) => ({ type: 'text', text })) }),
    tools: customTools.map(({ name, description, input_schema: inputSchema, strict }) => ({
      name,
      inputSchema,
      ...definedOnly({ description, strict }),
    })),
    ...(optionalTools.length > 0 && { optionalTools }),
    isAdaptable: true,
    ...(choice && { toolChoice: toToolChoice(choice) }),
    ...(format && { format: { schema: format.schema, strict: true } }),
    parameters: toParameters(request),
  }
  // Our request contains only the tools that the caller runs.
  const mapToolPath = (path: Issue['path']): Issue['path'] => {
    const [list, at, ...rest] = path
    const tool = list === 'tools' && typeof at === 'number' ? customTools[at] : undefined
    return tool ? ['tools', (tools ?? []).indexOf(tool), ...rest] : path
  }
  return { input, mapPath: (path) => mapToolPath(mapMessagePath(path)) }
}

/** Clients react to this code by sending the whole conversation. */
const createUnknownThreadProblem = () =>
  new Problem('not_found', { detail: 'No thread is kept here.', meta: { error_code: 'thread_not_found' } })

type Tool = NonNullable<MessageRequest['tools']>[number]
type OwnTool = z.output<typeof customTool>

const isCustomTool = (tool: Tool): tool is OwnTool => (tool.type ?? 'custom') === 'custom'

const listSearchTools = (tools: readonly Tool[]) =>
  (['web_search', 'web_fetch'] as const).filter((name) => tools.some(({ type }) => type?.startsWith(`${name}_`)))

function toToolChoice(choice: z.output<typeof toolChoice>): ToolChoice {
  if (choice.type === 'tool') return { name: choice.name }
  return choice.type === 'any' ? 'required' : choice.type
}

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
    ...definedOnly({ maxThinkingTokens, effort, isEffortOptional: effort && true, thinking: thinkingMode, thoughts }),
  }
}

/** Returns the effort; disabled thinking is `none`, which all providers understand. */
const readEffort = ({ thinking, output_config: output }: TranslatableRequest): Effort | undefined =>
  thinking?.type === 'disabled' ? 'none' : (output?.effort ?? undefined)
