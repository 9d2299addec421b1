import { z } from 'zod'
import { historyEntry, leftOut, OMITTED, omittedEntry } from '../../ai/left-out.ts'
import { ignore } from '../../ai/members.ts'
import { textOr, validateBy } from '../../ai/validate-by.ts'
import { allowedTools, customTool, toolOrReference } from '../openai-tools.ts'

/** Tool options that are left out: all tools are loaded, and the model calls them. */
const ignoredOptions = {
  allowed_callers: ignore('the model calls all tools itself'),
  async: ignore('a call is answered by a result'),
  defer_loading: ignore('all tools are there from the beginning'),
  output_schema: ignore('a result goes to the model as it is'),
}

const functionTool = z.strictObject({
  type: z.literal('function'),
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
  ...ignoredOptions,
})
export type FunctionTool = z.output<typeof functionTool>

const custom = z.strictObject({ type: z.literal('custom'), ...customTool, ...ignoredOptions })
export type CustomTool = z.output<typeof custom>

const searchTypes = [
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
] as const

const searchOption = ignore('the provider searches with its usual options')

/** The provider's search. */
const search = z.strictObject({
  type: z.enum(searchTypes),
  external_web_access: searchOption,
  filters: searchOption,
  search_content_types: searchOption,
  search_context_size: searchOption,
  user_location: searchOption,
})

export const isSearch = ({ type }: { type: string }): boolean => searchTypes.some((one) => one === type)

/** A namespace of tools, whose names are combined. */
const namespaceTool = z.strictObject({
  type: z.literal('namespace'),
  name: z.string(),
  description: z.string().nullish(),
  tools: z.array(z.discriminatedUnion('type', [functionTool, custom])).max(256),
  defer_loading: ignoredOptions.defer_loading,
})

/** A search for tools, which is left to the client; OpenAI's own has nothing to find, because all tools are loaded. */
const toolSearch = z
  .looseObject({
    type: z.literal('tool_search'),
    execution: z.string().nullish(),
    description: z.string().nullish(),
    parameters: z.record(z.string(), z.unknown()).nullish(),
  })
  .refine(({ execution }) => execution === 'client', {
    error: 'is left out',
    params: { ...leftOut, kind: 'tool_search' },
  })

/** A shell of the client, which the model calls as a function. */
const localShell = z.looseObject({ type: z.literal('local_shell') })

const tool = z.discriminatedUnion('type', [functionTool, custom, search, namespaceTool, toolSearch, localShell])
export type Tool = z.output<typeof tool> | typeof OMITTED

/** Tools that agents always offer, and do without if the model does not have them. */
const optionalTypes: ReadonlySet<string> = new Set(['image_generation'])

/** Tools that an item of the conversation brings; unknown ones are left out, because no client can repair these. */
export const broughtTools = z.array(historyEntry(tool))

const refusedTool = z.custom<never>(() => false, {
  path: ['type'],
  error: 'is run by OpenAI, or known to its models alone: declare it as a function',
})

const declaration = validateBy<typeof tool | typeof omittedEntry | typeof refusedTool>([tool], (value) => {
  const { type } = (value ?? {}) as { type?: unknown }
  if (typeof type !== 'string' || tool._zod.propValues['type']?.has(type)) return tool
  return value === OMITTED || optionalTypes.has(type) ? omittedEntry : refusedTool
})

export const tools = z.array(toolOrReference(declaration))
export type Tools = z.output<typeof tools>

const toolNames = { name: z.string(), namespace: z.string().nullish() }

/** Tools that OpenAI runs, or that only its models know. */
const hostedTypes = [
  'file_search',
  'computer',
  'computer_use',
  'computer_use_preview',
  'code_interpreter',
  'image_generation',
  'mcp',
  'shell',
  'apply_patch',
  'programmatic_tool_calling',
] as const

export const toolChoice = textOr(
  z.enum(['auto', 'required', 'none']),
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('function'), ...toolNames }),
    z.strictObject({ type: z.literal('custom'), ...toolNames }),
    z.strictObject({ type: z.literal('allowed_tools'), ...allowedTools }),
    search,
    z
      .looseObject({ type: z.enum(hostedTypes) })
      .refine(() => false, 'is a tool of OpenAI that this service does not call'),
  ]),
)
export type ToolChoiceInput = z.output<typeof toolChoice>
