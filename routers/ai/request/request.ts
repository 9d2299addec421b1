import { z } from 'zod'
import type { AssistantParameters } from '../../../entities/assistants/assistant-version.ts'
import type { DeepReadonly } from '../../../entities/sql/read-only.ts'
import { type ClientToolType, clientToolNames, type NativeTool, optionalTools } from '../../ports/ai/adapters.ts'
import type { Message, ToolResult, UserPart } from '../../ports/ai/messages.ts'
import { type CallParameters, efforts, type JsonFormat } from '../../ports/ai/models.ts'
import type { CallerTool, JsonSchema, ToolChoice } from '../../ports/ai/tools.ts'
import { TICKET } from '../../ports/ai/usage-ledger.ts'
import {
  type AttachmentPart,
  anyTextPart,
  anyUserPart,
  assistantPart,
  cacheMark,
  partList,
  type ToolApproval,
  toolApproval,
  toolName,
  toolResult,
} from './parts.ts'
import { toolReferences } from './tool-references.ts'

/** More than any model answers with. */
const MAX_TOKENS = 10_000_000
const MAX_STOPS = 16
const MAX_STOP = 500
/** Maximum characters of JSON; templates have few options. */
const MAX_TEMPLATE_OPTIONS = 4000

/** More than OpenAI takes. */
const MAX_CACHE_KEY = 200

const tokens = z.int().positive().max(MAX_TOKENS)

const penalty = z.number().min(-2).max(2)

/** Parameters that a caller may set for one call. */
const parameters: z.ZodType<CallParameters, CallParameters> = z.strictObject({
  temperature: z.number().min(0).max(2).optional(),
  topP: z.number().min(0).max(1).optional(),
  maxTokens: tokens.optional(),
  maxThinkingTokens: tokens.optional(),
  effort: z.enum(efforts).optional(),
  thinking: z.literal('adaptive').optional(),
  thoughts: z.enum(['auto', 'concise', 'detailed']).optional(),
  topK: z.int().positive().max(100_000).optional(),
  presencePenalty: penalty.optional(),
  frequencyPenalty: penalty.optional(),
  verbosity: z.enum(['low', 'medium', 'high']).optional(),
  templateOptions: z
    .record(z.string(), z.unknown())
    .refine((options) => JSON.stringify(options).length <= MAX_TEMPLATE_OPTIONS, {
      error: `must have at most ${MAX_TEMPLATE_OPTIONS} characters`,
    })
    .optional()
    .describe('The values that a server of open models puts into the template of the model.'),
  maxTokensName: z
    .literal('max_completion_tokens')
    .optional()
    .describe("The provider's own name of `maxTokens`, if the provider knows it."),
  logprobs: z
    .boolean()
    .optional()
    .describe('True asks for the log probabilities of tokens, if the server can report them.'),
  topLogprobs: z.int().min(0).max(20).optional(),
  seed: z.int32().optional(),
  stop: z.array(z.string().min(1).max(MAX_STOP)).min(1).max(MAX_STOPS).optional(),
  parallelTools: z.boolean().optional(),
  cache: cacheMark,
  cacheKey: z
    .string()
    .min(1)
    .max(MAX_CACHE_KEY)
    .optional()
    .describe('The key that groups requests with the same prefix for the cache of OpenAI.'),
  cacheRetention: z.enum(['in_memory', '24h']).optional().describe('The time for which OpenAI keeps what it caches.'),
})

const MAX_TOOLS = 256
/** Servers of tools describe some at length. */
const MAX_DESCRIPTION = 64_000
/** More options than any of Anthropic's tools has. */
const MAX_CLIENT_TOOL_OPTIONS = 20
/** Maximum characters of one schema and of all tools together, as JSON. */
const MAX_SCHEMA = 100_000
const MAX_ALL_TOOLS = 1_000_000

const schema: z.ZodType<JsonSchema> = z
  .record(z.string(), z.json())
  .refine((value) => JSON.stringify(value).length <= MAX_SCHEMA, `must have at most ${MAX_SCHEMA} characters as JSON`)

const tool = z.strictObject({
  name: toolName,
  description: z.string().max(MAX_DESCRIPTION).optional(),
  inputSchema: schema.describe('The JSON schema of the arguments.'),
  strict: z.boolean().optional(),
  clientTool: z
    .strictObject({
      type: z.enum(Object.keys(clientToolNames) as [ClientToolType, ...ClientToolType[]]),
      options: z
        .record(z.string().max(100), z.union([z.string().max(200), z.number(), z.boolean()]))
        .refine((options) => Object.keys(options).length <= MAX_CLIENT_TOOL_OPTIONS, 'has too many options'),
    })
    .optional()
    .describe('A tool that models of Anthropic know without a schema.'),
  cache: cacheMark,
}) satisfies z.ZodType<CallerTool>

const callerTools = z
  .array(tool)
  .max(MAX_TOOLS, `must be at most ${MAX_TOOLS} tools`)
  .refine((tools) => JSON.stringify(tools).length <= MAX_ALL_TOOLS, {
    error: `must have at most ${MAX_ALL_TOOLS} characters as JSON`,
  })
  .refine((tools) => new Set(tools.map(({ name }) => name)).size === tools.length, 'must have different names')

const toolChoice = z.union([
  z.enum(['auto', 'required', 'none']),
  z.strictObject({ name: toolName }),
  z.strictObject({ native: z.enum(optionalTools) }).describe('A tool that the provider runs itself.'),
]) satisfies z.ZodType<ToolChoice>

const jsonFormat = z.strictObject({
  name: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must have 1 to 64 letters, digits, _ and -')
    .optional(),
  description: z.string().max(MAX_DESCRIPTION).optional(),
  schema: schema.optional(),
  strict: z.boolean().optional(),
}) satisfies z.ZodType<JsonFormat>

/** More messages than any conversation has. */
export const MAX_MESSAGES = 2000

export const modelName = z
  .string()
  .min(1)
  .max(200, 'is not a model that you may use')
  .describe('The `modelId` of one of the `ai-models`.')

/**
 * A message of a request. User messages may name attachments, and a tool message may hold the person's approval in
 * place of a result.
 */
export type RequestMessage =
  | Exclude<Message, { role: 'user' | 'tool' }>
  | { role: 'tool'; content: readonly (ToolResult | ToolApproval)[] }
  | { role: 'user'; content: readonly (UserPart | AttachmentPart)[] }

/** A message whose attachments have been read. */
export type ResolvedMessage = Exclude<RequestMessage, { role: 'user' }> | Extract<Message, { role: 'user' }>

const message: z.ZodType<RequestMessage, RequestMessage> = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: partList(anyTextPart) }),
  z.strictObject({ role: z.literal('user'), content: partList(anyUserPart) }),
  z.strictObject({ role: z.literal('assistant'), content: partList(assistantPart) }),
  z.strictObject({
    role: z.literal('tool'),
    content: partList(z.discriminatedUnion('type', [toolResult, toolApproval])),
  }),
])

/** The front end sends the slug of a private conversation; callers may use any other name. */
export const conversationName = z
  .string()
  .min(1)
  .max(200)
  .describe(
    'The conversation that this request belongs to. A tool that the person approved for it runs without another question.',
  )

export const optionalParameters = z
  .boolean()
  .optional()
  .describe('True omits parameters that the model does not support. If false, the request is refused.')

/** A complete request to a model. Every protocol adapter converts its requests to this format. */
export const aiRequest = z.strictObject({
  model: modelName,
  answerModel: modelName
    .optional()
    .describe('The model that answers for an assistant in place of its own, if the assistant allows that.'),
  system: partList(anyTextPart).optional().describe('The instructions, which precede those among the messages.'),
  messages: z
    .array(message)
    .min(1)
    .max(MAX_MESSAGES, `must have at most ${MAX_MESSAGES} messages`)
    .describe('The conversation so far, which ends with a message of the user or with results of tools.'),
  tools: callerTools.default([]).describe('The functions that the caller runs.'),
  modelTools: toolReferences.optional(),
  conversation: conversationName.optional(),
  mayAsk: z
    .boolean()
    .optional()
    .describe(
      'True allows the answer to end with approval requests for tool calls. A further request answers them by `tool-approval`.',
    ),
  toolUses: z
    .boolean()
    .optional()
    .describe(
      "True reports each tool that the service or the provider runs by `tool-use` in the stream, and each result of the service's tools by `tool-result`.",
    ),
  toolChoice: toolChoice.optional(),
  parameters: parameters.default({}),
  optionalParameters,
  isAdaptable: z
    .boolean()
    .optional()
    .describe(
      'True adapts the request to the model: a budget of thoughts becomes an effort level if the model has only that, and `optionalTools` are omitted if it has none. The conversation may then end with the beginning of an answer, or consist of instructions alone.',
    ),
  optionalTools: z
    .array(z.enum(optionalTools))
    .max(optionalTools.length)
    .optional()
    .describe('The tools that the provider runs itself, if it can.'),
  format: jsonFormat.optional().describe('The format of an answer in JSON.'),
})

/** A request for a streamed answer, which can pause for questions. */
export const aiStreamRequest = aiRequest.extend({
  mayAsk: z
    .union([z.boolean(), z.literal('amid')])
    .optional()
    .describe(
      'The way in which the answer asks for approval of tool calls: at its end, so that a further request answers by `tool-approval`, or `amid` it, so that the answer waits for the approval or refusal.',
    ),
  reservation: z
    .string()
    .regex(TICKET, 'is not a reservation of `ai.reserve`')
    .optional()
    .describe('The reservation for this answer by `ai.reserve`. If it has ended, the answer is reserved anew.'),
})

/** The number of models that answer a question side by side. */
const COMPARED = 2

/** A request that several models will be asked at once, each by a request of its own. */
export const reserveRequest = aiStreamRequest.omit({ model: true, answerModel: true, reservation: true }).extend({
  models: z
    .array(modelName.describe('A model, or an assistant.'))
    .length(COMPARED, `must be ${COMPARED} models`)
    .describe('The models that will answer, which may be the same.'),
  answerModels: z
    .array(modelName.nullable())
    .length(COMPARED, `must be ${COMPARED} models`)
    .default([null, null])
    .describe('The models that answer for assistants in place of their own, in the same order; null for others.'),
})

/** An assistant sets this in a request for it, beside its instructions. */
export interface AssistantSettings {
  /** Its handle, an at sign, and the number of the version. */
  label: string
  handle: string
  /** The number of the version. */
  number: number
  /** True if it has knowledge, which is read for each answer. */
  hasKnowledge: boolean
  /** The number of parts at the beginning of `system` that are its own. */
  instructions: number
  /** Version of the catalogue of the cached assistant; null if it was read for this call. */
  catalogue: number | null
  /** Names of the models that answer where its own cannot, in order. */
  fallback: readonly string[]
  parameters: DeepReadonly<AssistantParameters>
  /** References to the tools that it may use; null for all tools of the model. */
  tools: readonly string[] | null
}

export type AiRequest = z.output<typeof aiRequest> & {
  /** The `optionalTools` that the model's provider supports. */
  nativeTools?: readonly NativeTool[] | undefined
  /** The assistant that the request was made for. */
  assistant?: AssistantSettings | undefined
}
