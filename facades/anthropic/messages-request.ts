import { z } from 'zod'
import { Problem } from '../../routers/core/problems.ts'
import type { CallParameters, Effort } from '../../routers/ports/ai/models.ts'
import type { ToolChoice } from '../../routers/ports/ai/tools.ts'
import type { CoreRequest } from '../ai/answer.ts'
import { ignored, label, passedOn, refused, translated } from '../ai/members.ts'
import { set } from '../ai/request-body.ts'
import { message, type ownTool, texts, tool } from './messages-blocks.ts'
import { Conversation } from './messages-conversation.ts'

const oneByOne = { disable_parallel_tool_use: z.boolean().nullish() }

const toolChoice = z.discriminatedUnion('type', [
  z.strictObject({ type: z.enum(['auto', 'any']), ...oneByOne }),
  z.strictObject({ type: z.literal('tool'), name: z.string(), ...oneByOne }),
  z.strictObject({ type: z.literal('none'), ...oneByOne }),
])

/** Left out, a thought could not be sent back as its provider wants it. */
const display = {
  display: translated(z.enum(['summarized', 'omitted']).nullish(), 'thoughts are told where there are any'),
}

/** Where nothing is said of thoughts, the model's own settings decide. */
const thinking = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('enabled'),
    budget_tokens: translated(z.int(), 'an effort, where the model is told only that'),
    ...display,
  }),
  z.strictObject({ type: z.enum(['adaptive', 'between_tools']), ...display }),
  z.strictObject({ type: z.literal('disabled'), ...display }),
])

const jsonFormat = z.strictObject({ type: z.literal('json_schema'), schema: z.record(z.string(), z.unknown()) })

const outputConfig = z.strictObject({
  effort: passedOn(z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(), 'unless thinking is disabled'),
  format: translated(jsonFormat.nullish(), 'in the words of the provider'),
})

/** What a client may send in place of the conversation so far. */
const thread = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('create') }),
  z.strictObject({ type: z.literal('continue'), previous_message_id: z.string() }),
])

/** All standard members of a request for a message. */
export const messageRequest = z.strictObject({
  model: translated(z.string(), 'one of `GET /v1/models`'),
  messages: translated(z.array(message), 'instructions go first, wherever they stand'),
  system: translated(texts.nullish(), 'before all other instructions'),
  tools: translated(
    z.array(tool).nullish(),
    'functions; a search of the web is that of the provider, or left out where the model has none',
  ),
  tool_choice: translated(toolChoice.nullish(), 'in the words of the provider'),
  thinking: translated(thinking.nullish(), 'see its members'),
  output_config: translated(outputConfig.nullish(), 'see its members'),
  output_format: translated(jsonFormat.nullish(), 'as `output_config.format`'),
  max_tokens: passedOn(z.int(), 'in the word that the provider has'),
  stream: translated(z.boolean().nullish(), 'the answer comes as events'),
  temperature: passedOn(z.number().nullish()),
  top_p: passedOn(z.number().nullish()),
  top_k: passedOn(z.int().nullish(), 'left out, and named, where the provider has no word for it'),
  stop_sequences: passedOn(z.array(z.string()).nullish()),
  metadata: label('the provider is told nothing of who asks'),
  user_profile_id: label('the provider is told nothing of who asks'),
  workspace_id: label('the provider is told nothing of who asks'),
  service_tier: ignored('the contract with the provider decides', 'auto', 'standard_only'),
  billing_policy: ignored('the contract with the provider decides'),
  fallback_credit_token: label('the contract with the provider decides'),
  inference_geo: refused('is taken as global only: the contract with the provider decides', 'global'),
  speed: ignored('the provider answers as fast as it does', 'standard'),
  cache_control: label('the provider decides what it caches'),
  diagnostics: label('nothing is kept to compare with'),
  context_management: ignored('the conversation is sent as it is'),
  compaction: ignored('the conversation is sent as it is'),
  betas: label('what is known is taken without them'),
  thread: translated(thread.nullish(), 'nothing is kept: one that goes on is not found, and clients send it all again'),
  fallbacks: ignored('the models that stand in are those of the settings'),
  container: refused('is nothing that this service has'),
  mcp_servers: refused('are not called for callers: the service has its own'),
})
type MessageRequest = z.output<typeof messageRequest>

/** A message whose tokens are counted. */
export const countRequest = messageRequest.omit({ max_tokens: true, stream: true })

type Askable = Omit<MessageRequest, 'max_tokens' | 'stream'> & { max_tokens?: number | undefined }

/** A request in the terms of the service, and where its messages come from. */
export interface Translated {
  input: CoreRequest
  placeOf: Conversation['placeOf']
}

export function translateRequest(asked: Askable): Translated {
  if (asked.thread?.type === 'continue') throw threadNotFound()
  const { model, system, tools, tool_choice: choice } = asked
  const format = asked.output_config?.format ?? asked.output_format
  const own = (tools ?? []).filter(isOwn)
  const optionalTools = searchesAmong(tools ?? [])
  const { messages, placeOf } = new Conversation(asked.messages)
  const input: CoreRequest = {
    model,
    messages,
    ...(system?.length && { system: system.map(({ text }) => ({ type: 'text', text })) }),
    tools: own.map(({ name, description, input_schema: inputSchema, strict }) => ({
      name,
      inputSchema,
      ...set({ description, strict }),
    })),
    ...(optionalTools.length > 0 && { optionalTools }),
    isAdaptable: true,
    ...(choice && { toolChoice: toToolChoice(choice) }),
    ...(format && { format: { schema: format.schema, strict: true } }),
    parameters: toParameters(asked),
  }
  // Tools that the provider runs are none of ours.
  const toolPlace = (path: Path): Path => {
    const [list, at, ...rest] = path
    const tool = list === 'tools' && typeof at === 'number' ? own[at] : undefined
    return tool ? ['tools', (tools ?? []).indexOf(tool), ...rest] : path
  }
  return { input, placeOf: (path) => toolPlace(placeOf(path)) }
}

/** By this code the client sends the whole conversation. */
const threadNotFound = () =>
  new Problem('not_found', { detail: 'No thread is kept here.', meta: { error_code: 'thread_not_found' } })

type Path = readonly (string | number)[]
type Tool = NonNullable<MessageRequest['tools']>[number]
type OwnTool = z.output<typeof ownTool>

const isOwn = (tool: Tool): tool is OwnTool => (tool.type ?? 'custom') === 'custom'

const searchesAmong = (tools: readonly Tool[]) =>
  (['web_search', 'web_fetch'] as const).filter((name) => tools.some(({ type }) => type?.startsWith(`${name}_`)))

function toToolChoice(choice: z.output<typeof toolChoice>): ToolChoice {
  if (choice.type === 'tool') return { name: choice.name }
  return choice.type === 'any' ? 'required' : choice.type
}

function toParameters(asked: Askable): CallParameters {
  const { temperature, top_p: topP, max_tokens: maxTokens, thinking, tool_choice: choice } = asked
  const stop = asked.stop_sequences?.length ? asked.stop_sequences : undefined
  const maxThinkingTokens = thinking?.type === 'enabled' ? thinking.budget_tokens : undefined
  const isOneByOne = choice && 'disable_parallel_tool_use' in choice ? choice.disable_parallel_tool_use : undefined
  const effort = readEffort(asked)
  const parallelTools = isOneByOne ? false : undefined
  const thoughts = thinking?.type !== 'disabled' && thinking?.display ? ('auto' as const) : undefined
  const isDecided = thinking?.type === 'adaptive' || thinking?.type === 'between_tools'
  const decides = isDecided ? ('adaptive' as const) : undefined
  const sampling = set({ temperature, topP, topK: asked.top_k, maxTokens, stop, parallelTools })
  return {
    ...sampling,
    ...set({ maxThinkingTokens, effort, isEffortOptional: effort && true, thinking: decides, thoughts }),
  }
}

/** A model that is not to think is told so in the only word that all providers have. */
const readEffort = ({ thinking, output_config: output }: Askable): Effort | undefined =>
  thinking?.type === 'disabled' ? 'none' : (output?.effort ?? undefined)
