import { z } from 'zod'
import { Problem } from '../../../routers/core/problems.ts'
import type { CallParameters, Effort } from '../../../routers/ports/ai/models.ts'
import type { ToolChoice } from '../../../routers/ports/ai/tools.ts'
import { only, set } from '../../ai/parameters.ts'
import type { CoreRequest } from '../../ai/types.ts'
import { message, texts, tool } from './blocks.ts'
import { Conversation } from './conversation.ts'

const oneByOne = { disable_parallel_tool_use: z.boolean().nullish() }

const toolChoice = z.discriminatedUnion('type', [
  z.strictObject({ type: z.enum(['auto', 'any']), ...oneByOne }),
  z.strictObject({ type: z.literal('tool'), name: z.string(), ...oneByOne }),
  z.strictObject({ type: z.literal('none') }),
])

/** Left out, a thought could not be sent back as its provider wants it. */
const display = { display: only('summarized') }

/** Where nothing is said of thoughts, the model's own settings decide. */
const thinking = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('enabled'), budget_tokens: z.int(), ...display }),
  z.strictObject({ type: z.literal('adaptive'), ...display }),
  z.strictObject({ type: z.literal('disabled') }),
])

const outputConfig = z.strictObject({
  effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  format: z.strictObject({ type: z.literal('json_schema'), schema: z.record(z.string(), z.unknown()) }).nullish(),
})

/** A request for a message. What is not known here is refused, as it would else be passed over in silence. */
export const messageRequest = z.strictObject({
  model: z.string(),
  messages: z.array(message),
  system: texts.nullish(),
  tools: z.array(tool).nullish(),
  tool_choice: toolChoice.nullish(),
  thinking: thinking.nullish(),
  output_config: outputConfig.nullish(),
  max_tokens: z.int(),
  stream: z.boolean().nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  // Words of the caller about a request, which change nothing of its answer.
  metadata: z.strictObject({ user_id: z.string().nullish() }).nullish(),
  service_tier: z.enum(['auto', 'standard_only']).nullish(),
  top_k: z.null().optional(),
  container: z.null().optional(),
  inference_geo: only('global'),
})
type MessageRequest = z.output<typeof messageRequest>

/** A message whose tokens are counted. */
export const countRequest = messageRequest.pick({
  ...{ model: true, messages: true, system: true, tools: true },
  ...{ tool_choice: true, thinking: true, output_config: true },
})

type Askable = Omit<MessageRequest, 'max_tokens'> & { max_tokens?: number | undefined }

/** A request in the terms of the service, and where its messages come from. */
export interface Translated {
  input: CoreRequest
  placeOf: Conversation['placeOf']
}

export function translated(asked: Askable): Translated {
  const { model, system, tools, tool_choice: choice } = asked
  const format = asked.output_config?.format
  const { messages, placeOf } = new Conversation(asked.messages)
  const input: CoreRequest = {
    model,
    messages,
    ...(system?.length && { system: system.map(({ text }) => ({ type: 'text', text })) }),
    tools: (tools ?? []).map(({ name, description, input_schema: inputSchema, strict }) => ({
      name,
      inputSchema,
      ...set({ description, strict }),
    })),
    ...(choice && { toolChoice: choiceOf(choice) }),
    ...(format && { format: { schema: format.schema, strict: true } }),
    parameters: parametersOf(asked),
  }
  return { input, placeOf }
}

function choiceOf(choice: z.output<typeof toolChoice>): ToolChoice {
  if (choice.type === 'tool') return { name: choice.name }
  return choice.type === 'any' ? 'required' : choice.type
}

function parametersOf(asked: Askable): CallParameters {
  const { temperature, top_p: topP, max_tokens: maxTokens, thinking, tool_choice: choice } = asked
  const stop = asked.stop_sequences?.length ? asked.stop_sequences : undefined
  const maxThinkingTokens = thinking?.type === 'enabled' ? thinking.budget_tokens : undefined
  const isOneByOne = choice && 'disable_parallel_tool_use' in choice ? choice.disable_parallel_tool_use : undefined
  const effort = effortOf(asked)
  const parallelTools = isOneByOne ? false : undefined
  const thoughts = thinking && 'display' in thinking && thinking.display ? ('auto' as const) : undefined
  const decides = thinking?.type === 'adaptive' ? thinking.type : undefined
  const sampling = set({ temperature, topP, maxTokens, stop, parallelTools })
  return { ...sampling, ...set({ maxThinkingTokens, effort, thinking: decides, thoughts }) }
}

/** A model that is not to think is told so in the only word that all providers have. */
function effortOf({ thinking, output_config: output }: Askable): Effort | undefined {
  const effort = output?.effort ?? undefined
  if (thinking?.type !== 'disabled') return effort
  if (effort === undefined) return 'none'
  const message = 'cannot be set where thinking is disabled'
  throw new Problem('invalid', { issues: [{ path: ['output_config', 'effort'], message }] })
}
