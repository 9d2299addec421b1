import { z } from 'zod'
import { only } from '../../ai/parameters.ts'

/** What a provider may keep for later requests, which changes nothing of the answer. */
const kept = {
  cache_control: z.strictObject({ type: z.literal('ephemeral'), ttl: z.string().nullish() }).nullish(),
}

const textBlock = z.strictObject({
  type: z.literal('text'),
  text: z.string(),
  // Clients send back what they were answered.
  citations: z.array(z.unknown()).nullish(),
  ...kept,
})

const base64 = z.literal('base64', 'is taken as base64 only, as nothing is fetched from elsewhere')

const image = z.strictObject({
  type: z.literal('image'),
  source: z.strictObject({ type: base64, media_type: z.string(), data: z.string() }),
  ...kept,
})

const document = z.strictObject({
  type: z.literal('document'),
  source: z.discriminatedUnion(
    'type',
    [
      z.strictObject({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
      z.strictObject({ type: z.literal('text'), media_type: z.literal('text/plain'), data: z.string() }),
    ],
    { error: 'is taken as base64 or text only, as nothing is fetched from elsewhere' },
  ),
  title: z.string().nullish(),
  context: z.null().optional(),
  citations: z.strictObject({ enabled: only(false) }).nullish(),
  ...kept,
})

const inputBlocks = [textBlock, image, document] as const
const inputBlock = z.discriminatedUnion('type', inputBlocks)
export type InputBlock = z.output<typeof inputBlock>

/** A text stands for a list with it alone. */
const listOf = <Block extends z.ZodType>(block: Block) =>
  z
    .preprocess(
      (content) => (typeof content === 'string' ? [{ type: 'text', text: content }] : content),
      z.array(block),
    )
    .meta({ shorthand: 'text' })

export const texts = listOf(textBlock)

const toolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: z.string(),
  content: listOf(inputBlock).nullish(),
  is_error: z.boolean().nullish(),
  ...kept,
})
export type ToolResultBlock = z.output<typeof toolResult>

const assistantBlock = z.discriminatedUnion('type', [
  textBlock,
  z.strictObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().nullish() }),
  z.strictObject({ type: z.literal('redacted_thinking'), data: z.string() }),
  z.strictObject({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
    caller: z.strictObject({ type: z.literal('direct') }).nullish(),
    ...kept,
  }),
])
export type AssistantBlock = z.output<typeof assistantBlock>

export const message = z.discriminatedUnion('role', [
  z.strictObject({
    role: z.literal('user'),
    content: listOf(z.discriminatedUnion('type', [...inputBlocks, toolResult])),
  }),
  z.strictObject({ role: z.literal('assistant'), content: listOf(assistantBlock) }),
])
export type MessageOnWire = z.output<typeof message>

/** A tool of the caller. Those that Anthropic runs itself have other types. */
export const tool = z.strictObject({
  type: z.literal('custom').nullish(),
  name: z.string(),
  description: z.string().nullish(),
  input_schema: z.record(z.string(), z.unknown()),
  strict: z.boolean().nullish(),
  eager_input_streaming: z.boolean().nullish(),
  defer_loading: only(false),
  ...kept,
})
