import { z } from 'zod'
import { cacheControl } from '../ai/cache-control.ts'
import { historyEntry, leftOut } from '../ai/left-out.ts'
import { ignore, ignoreEcho, translate } from '../ai/members.ts'
import { textOrList } from '../ai/request-body.ts'
import { broughtTool } from './messages-tools.ts'

/** Cache hints, which change only the price. */
const cacheHints = { cache_control: cacheControl }

/** Those of blocks that become no part which could be marked. */
const unsentHints = { cache_control: ignore('only texts, files, calls and results can be marked') }

const textBlock = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  citations: ignoreEcho('only the text goes back'),
  ...cacheHints,
})

const toBlockList = <Block extends z.ZodType>(block: Block) => textOrList(block, (text) => ({ type: 'text', text }))

export const texts = toBlockList(textBlock)

const base64 = z.literal('base64', 'is taken as base64 only, as nothing is fetched from elsewhere')

const image = z.strictObject({
  type: z.literal('image'),
  source: z.strictObject({ type: base64, media_type: z.string(), data: z.string() }),
  transformations: ignore('a picture is sent as it is'),
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
  citations: ignore('only searches of the provider are cited'),
  ...cacheHints,
})

/** A search result for the model. */
const searchResult = z.strictObject({
  type: z.literal('search_result'),
  source: z.string(),
  title: z.string(),
  content: z.array(textBlock),
  citations: ignore('only searches of the provider are cited'),
  ...cacheHints,
})

const inputBlocks = [textBlock, image, document, searchResult] as const
const inputBlock = historyEntry(
  z.discriminatedUnion('type', [
    ...inputBlocks,
    /** A tool found by a tool search; here all tools are loaded from the start. */
    z.strictObject({ type: z.literal('tool_reference'), tool_name: z.string(), ...cacheHints }),
  ]),
)
export type InputBlock = z.output<typeof inputBlock>

const toolReference = z.strictObject({ type: z.literal('tool_reference'), name: z.string() })

/** Changes of the tools in the course of a conversation. */
const toolChanges = [
  translate(
    z.strictObject({
      type: z.literal('tool_addition'),
      tool: historyEntry(
        z.discriminatedUnion('type', [
          z.strictObject({ type: z.literal('tool_definition'), definition: broughtTool.optional() }),
          toolReference,
        ]),
      ).optional(),
      ...unsentHints,
    }),
    'its tool is offered as if it stood in `tools`',
  ),
  translate(
    z.strictObject({
      type: z.literal('tool_removal'),
      tool: historyEntry(z.discriminatedUnion('type', [toolReference])).optional(),
      ...unsentHints,
    }),
    'its tool is no longer offered',
  ),
] as const

const toolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: toBlockList(inputBlock).nullish(),
  is_error: z.boolean().nullish(),
  toolset_name: ignoreEcho('its tool is known by its name'),
  ...cacheHints,
})
export type ToolResultBlock = z.output<typeof toolResult>

/** A summary of Anthropic; one that is encrypted cannot be read. */
const compaction = z
  .looseObject({ type: z.literal('compaction'), content: z.string().nullish(), ...cacheHints })
  .refine(({ content }) => content, { error: 'is left out', params: { ...leftOut, kind: 'compaction' } })

const assistantBlock = historyEntry(
  z.discriminatedUnion('type', [
    textBlock,
    z.strictObject({
      type: z.literal('thinking'),
      thinking: z.string(),
      signature: z.string().nullish(),
      ...unsentHints,
    }),
    z.strictObject({ type: z.literal('redacted_thinking'), data: z.string(), ...unsentHints }),
    z.strictObject({
      type: z.literal('tool_use'),
      id: z.string(),
      name: z.string(),
      input: z.record(z.string(), z.unknown()).nullish(),
      caller: ignoreEcho('the model calls all tools itself'),
      toolset_name: ignoreEcho('its tool is known by its name'),
      ...cacheHints,
    }),
    translate(compaction, 'a text; an encrypted one is left out'),
    ...toolChanges,
  ]),
)
export type AssistantBlock = z.output<typeof assistantBlock>

const userBlock = historyEntry(
  z.discriminatedUnion('type', [
    ...inputBlocks,
    toolResult,
    ...toolChanges,
    z
      .looseObject({ type: z.literal('container_upload') })
      .refine(() => false, 'is a file of a container, and there are none: send it as a document'),
  ]),
)
export type UserBlock = z.output<typeof userBlock>

const systemBlock = historyEntry(z.discriminatedUnion('type', [textBlock, ...toolChanges]))
export type SystemBlock = z.output<typeof systemBlock>

const turnLabels = {
  reason: ignoreEcho('only role and content are sent'),
  id: ignoreEcho('only role and content are sent'),
}

export const message = z.discriminatedUnion('role', [
  z
    .strictObject({ role: z.literal('user'), content: toBlockList(userBlock), ...turnLabels })
    .refine(({ content }) => content.length === 0 || content.some(({ type }) => type !== 'omitted'), {
      path: ['content'],
      error: 'has no block of a kind that is known',
    }),
  z.strictObject({ role: z.literal('assistant'), content: toBlockList(assistantBlock), ...turnLabels }),
  z.strictObject({
    role: z.literal('system'),
    content: toBlockList(systemBlock).nullish(),
    clear_at: ignore('instructions stay'),
    output_config: ignore('the effort of the request counts for all of its turns'),
    ...turnLabels,
  }),
])
export type MessageOnWire = z.output<typeof message>
