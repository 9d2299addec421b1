import { z } from 'zod'
import { type ClientToolType, clientToolNames } from '../../routers/ports/ai/adapters.ts'
import { cacheControl } from '../ai/cache-control.ts'
import { OMITTED, omittedEntry } from '../ai/left-out.ts'
import { ignore } from '../ai/members.ts'
import { validateBy } from '../ai/validate-by.ts'

const toolHints = {
  defer_loading: ignore('all tools are there from the beginning'),
  allowed_callers: ignore('the model calls all tools itself'),
  eager_input_streaming: ignore('a call comes whole'),
  input_examples: ignore('the schema says what is taken'),
}

/** A tool that the caller runs. */
const customTool = z.strictObject({
  type: z.literal('custom').nullish(),
  name: z.string(),
  description: z.string().nullish(),
  input_schema: z.record(z.string(), z.unknown()),
  strict: z.boolean().nullish(),
  cache_control: cacheControl,
  ...toolHints,
})

/** The mark of a tool that no request of the provider can bear. */
const unsentMark = ignore('only a tool with a schema can be marked')

const clientToolTypes = Object.keys(clientToolNames) as [ClientToolType, ...ClientToolType[]]

/** A tool that the caller runs, and that models of Anthropic know without a schema. */
const clientTool = z.strictObject({
  type: z.enum(clientToolTypes),
  name: z.string(),
  display_width_px: z.int().nullish(),
  display_height_px: z.int().nullish(),
  display_number: z.int().nullish(),
  enable_zoom: z.boolean().nullish(),
  max_characters: z.int().nullish(),
  strict: z.unknown().optional(),
  cache_control: unsentMark,
  ...toolHints,
})
export type ClientTool = z.output<typeof clientTool>

const searchOption = ignore('the provider searches with its usual options')

/** A search of the web, or the reading of pages, by the provider. */
const searchTool = z.strictObject({
  type: z.templateLiteral([z.enum(['web_search_', 'web_fetch_']), z.string()]),
  name: z.string(),
  max_uses: searchOption,
  allowed_domains: searchOption,
  blocked_domains: searchOption,
  user_location: searchOption,
  citations: searchOption,
  max_content_tokens: searchOption,
  cache_control: unsentMark,
  ...toolHints,
})

const refusedTool = z.custom<never>(() => false, {
  path: ['type'],
  error: 'is run by Anthropic, or not known here: declare it with a schema, without a type',
})

/** A search for tools has nothing to find here, because all tools are loaded. */
const toolSearch = /^tool_search_tool_\w+$/

type AnyTool = typeof customTool | typeof clientTool | typeof searchTool | typeof omittedEntry | typeof refusedTool

type Unknown = typeof omittedEntry | typeof refusedTool

const acceptTool = (unknown: Unknown) =>
  validateBy<AnyTool>([customTool, clientTool, searchTool], (value) => {
    if (value === OMITTED) return omittedEntry
    const { type } = (value ?? {}) as { type?: unknown }
    if ((type ?? 'custom') === 'custom') return customTool
    return typeof type === 'string' ? chooseTypedTool(type, unknown) : unknown
  })

function chooseTypedTool(type: string, unknown: Unknown): AnyTool {
  if (toolSearch.test(type)) return omittedEntry
  if (/^web_(search|fetch)_\d{8}$/.test(type)) return searchTool
  return Object.hasOwn(clientToolNames, type) ? clientTool : unknown
}

export const tool = acceptTool(refusedTool)

/** A tool that a message brings; an unknown one is left out, because no client can repair its history. */
export const broughtTool = acceptTool(omittedEntry)

export type Tool = z.output<typeof tool>

const parallelOption = { disable_parallel_tool_use: z.boolean().nullish() }

export const toolChoice = z.discriminatedUnion('type', [
  z.strictObject({ type: z.enum(['auto', 'any']), ...parallelOption }),
  z.strictObject({ type: z.literal('tool'), name: z.string(), ...parallelOption }),
  z.strictObject({ type: z.literal('none'), ...parallelOption }),
])
export type ToolChoiceInput = z.output<typeof toolChoice>
