import { z } from 'zod'
import { ignoreSilently } from '../ai/members.ts'
import { textOrList, validateBy } from '../ai/request-body.ts'

/** Cache hints, which do not change the answer. */
const cacheHints = { cache_control: ignoreSilently('the provider decides what it caches') }

const textBlock = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  // Clients return the citations of earlier answers.
  citations: ignoreSilently('only the text goes back'),
  ...cacheHints,
})

const toBlockList = <Block extends z.ZodType>(block: Block) => textOrList(block, (text) => ({ type: 'text', text }))

export const texts = toBlockList(textBlock)

const base64 = z.literal('base64', 'is taken as base64 only, as nothing is fetched from elsewhere')

const image = z.strictObject({
  type: z.literal('image'),
  source: z.strictObject({ type: base64, media_type: z.string(), data: z.string() }),
  transformations: ignoreSilently('a picture is sent as it is'),
  ...cacheHints,
})

const document = z.strictObject({
  type: z.literal('document'),
  source: z.discriminatedUnion(
    'type',
    [
      z.strictObject({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
      z.strictObject({ type: z.literal('text'), media_type: z.literal('text/plain').nullish(), data: z.string() }),
      z.strictObject({ type: z.literal('content'), content: texts }),
    ],
    { error: 'is taken as base64 or text only, as nothing is fetched from elsewhere' },
  ),
  title: z.string().nullish(),
  context: z.string().nullish(),
  citations: ignoreSilently('only searches of the provider are cited'),
  ...cacheHints,
})

/** A search result for the model. */
const searchResult = z.strictObject({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: z.array(textBlock),
  citations: ignoreSilently('only searches of the provider are cited'),
  ...cacheHints,
})

const inputBlocks = [textBlock, image, document, searchResult] as const
const inputBlock = z.discriminatedUnion('type', [
  ...inputBlocks,
  /** A tool found by a tool search; here all tools are loaded from the start. */
  z.strictObject({ type: z.literal('tool_reference'), tool_name: z.string(), ...cacheHints }),
])
export type InputBlock = z.output<typeof inputBlock>

const toolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: toBlockList(inputBlock).nullish(),
  is_error: z.boolean().nullish(),
  toolset_name: ignoreSilently('its tool is known by its name'),
  ...cacheHints,
})
export type ToolResultBlock = z.output<typeof toolResult>

const caller = ignoreSilently('the model calls all tools itself')

const assistantBlock = z.discriminatedUnion('type', [
  textBlock,
  z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().nullish(), ...cacheHints }),
  z.strictObject({ type: z.literal('redacted_thinking'), data: z.string(), ...cacheHints }),
  z.strictObject({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()).nullish(),
    caller,
    toolset_name: ignoreSilently('its tool is known by its name'),
    ...cacheHints,
  }),
  // Calls and results of the provider's own tools.
  z.looseObject({ type: z.enum(['server_tool_use', 'web_search_tool_result', 'web_fetch_tool_result']) }),
])
export type AssistantBlock = z.output<typeof assistantBlock>

const turnLabels = {
  reason: ignoreSilently('only role and content are sent'),
  id: ignoreSilently('only role and content are sent'),
}

export const message = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.literal('user'),
    content: toBlockList(z.discriminatedUnion('type', [...inputBlocks, toolResult])),
    ...turnLabels,
  }),
  z.strictObject({ role: z.literal('assistant'), content: toBlockList(assistantBlock), ...turnLabels }),
  z.strictObject({ role: z.literal('system'), content: texts, ...turnLabels }),
])
export type MessageOnWire = z.output<typeof message>

const toolHints = {
  cache_control: ignoreSilently('the provider decides what it caches'),
  defer_loading: ignoreSilently('all tools are there from the beginning'),
  allowed_callers: ignoreSilently('the model calls all tools itself'),
  eager_input_streaming: ignoreSilently('a call comes whole'),
  input_examples: ignoreSilently('the schema says what is taken'),
}

/** A tool that the caller runs. */
export const customTool = z.strictObject({
  type: z.literal('custom').nullish(),
  name: z.string(),
  description: z.string().nullish(),
  input_schema: z.record(z.string(), z.unknown()),
  strict: z.boolean().nullish(),
  ...toolHints,
})

const serverTool = z.looseObject({
  type: z
    .string()
    .regex(
      /^(web_search|web_fetch|tool_search_tool_\w+?)_\d{8}$/,
      'must be custom, or a search of the web or of tools: others are known to models of Anthropic alone',
    ),
})

/**
 * Accepts server tools: a web search uses that of the provider, or is ignored if the model has none; a tool search has
 * nothing to find.
 */
export const tool = validateBy<typeof customTool | typeof serverTool>([customTool, serverTool], (value) => {
  const { type = 'custom' } = (typeof value === 'object' && value !== null ? value : {}) as { type?: unknown }
  return type === 'custom' || type === null ? customTool : serverTool
})
