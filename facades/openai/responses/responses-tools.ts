import { z } from 'zod'
import type { Issue } from '../../../routers/core/problems.ts'
import type { CallerTool, ToolChoice } from '../../../routers/ports/ai/tools.ts'
import { definedOnly, textOr } from '../../ai/request-body.ts'
import { allowedTools, customTool, filterAllowed, isDeclaration, toFunction, toolOrReference } from '../openai-tools.ts'

/** Tool options that are ignored: all tools are loaded, and the model calls them. */
const ignoredOptions = {
  allowed_callers: z.unknown().optional(),
  async: z.unknown().optional(),
  defer_loading: z.unknown().optional(),
  output_schema: z.unknown().optional(),
}

const functionTool = z.strictObject({
  type: z.literal('function'),
  name: z.string(),
  description: z.string().nullish(),
  parameters: z.record(z.string(), z.unknown()).nullish(),
  strict: z.boolean().nullish(),
  ...ignoredOptions,
})

const custom = z.strictObject({ type: z.literal('custom'), ...customTool, ...ignoredOptions })

const searchTypes = [
  'web_search',
  'web_search_2025_08_26',
  'web_search_preview',
  'web_search_preview_2025_03_11',
] as const

/** The provider's search, with its own options. */
const search = z.looseObject({ type: z.enum(searchTypes) })

/** A namespace of tools, whose names are combined. */
const namespaceTool = z.strictObject({
  type: z.literal('namespace'),
  name: z.string(),
  description: z.string().nullish(),
  tools: z.array(z.discriminatedUnion('type', [functionTool, custom])).max(256),
})

/** A tool search, which has nothing to find because all tools are loaded. */
const toolSearch = z.looseObject({ type: z.literal('tool_search') })

/** Tools that OpenAI hosts; other models answer as if they did not use them. */
const hosted = z.looseObject({ type: z.enum(['image_generation']) })

const tool = z.discriminatedUnion('type', [functionTool, custom, search, namespaceTool, toolSearch, hosted])
type Tool = z.output<typeof tool>
type FunctionOrCustom = z.output<typeof functionTool> | z.output<typeof custom>

export const tools = z.array(toolOrReference(tool))
export type Tools = z.output<typeof tools>

const toolNames = { name: z.string(), namespace: z.string().nullish() }

export const toolChoice = textOr(
  z.enum(['auto', 'required', 'none']),
  z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('function'), ...toolNames }),
    z.strictObject({ type: z.literal('custom'), ...toolNames }),
    z.strictObject({ type: z.literal('allowed_tools'), ...allowedTools }),
  ]),
)
type ToolChoiceInput = z.output<typeof toolChoice>

/** A declared tool with the names and the path of the caller. */
interface DeclaredTool {
  tool: CallerTool
  /** The caller's name of the tool. */
  name: string
  namespace?: string
  isCustom: boolean
  path: Issue['path']
}

/** The tools of a request by the names for the model. */
export class ToolTable {
  readonly declared: readonly DeclaredTool[]
  readonly references: readonly string[]
  readonly wantsSearch: boolean
  readonly #byName: ReadonlyMap<string, DeclaredTool>

  constructor(tools: Tools | null | undefined, choice: ToolChoiceInput | null | undefined) {
    const all = tools ?? []
    const allowed = typeof choice === 'object' && choice?.type === 'allowed_tools' ? choice : undefined
    const selected = new Set(filterAllowed(all, allowed, (one) => ('name' in one ? String(one.name) : one.type)))
    const kept = [...all.entries()].filter(([, one]) => selected.has(one))
    this.declared = kept.flatMap(([at, one]) => (isDeclaration(one) ? declareTools(one, at) : []))
    this.references = all.filter((one) => typeof one === 'string')
    this.wantsSearch = kept.some(([, one]) => typeof one === 'object' && searchTypes.some((type) => type === one.type))
    this.#byName = new Map(this.declared.map((one) => [one.tool.name, one]))
  }

  find(name: string): DeclaredTool | undefined {
    return this.#byName.get(name)
  }

  /** Maps a path in our tools to the client's request. */
  mapPath(path: Issue['path']): Issue['path'] | undefined {
    const [list, at, member, ...rest] = path
    const toolPath = list === 'tools' && typeof at === 'number' ? this.declared[at]?.path : undefined
    return (
      toolPath && [
        ...toolPath,
        ...(member === undefined ? [] : [member === 'inputSchema' ? 'parameters' : member, ...rest]),
      ]
    )
  }
}

function declareTools(declaration: Tool, at: number): DeclaredTool[] {
  if (declaration.type === 'function' || declaration.type === 'custom') return [declareTool(declaration, ['tools', at])]
  if (declaration.type !== 'namespace') return []
  const { name: namespace, tools } = declaration
  return tools.map((inner, index) => declareTool(inner, ['tools', at, 'tools', index], namespace))
}

function declareTool(declaration: FunctionOrCustom, path: DeclaredTool['path'], namespace?: string): DeclaredTool {
  const name = qualifyName(declaration.name, namespace)
  const isCustom = declaration.type === 'custom'
  const tool = isCustom ? { ...toFunction(declaration), name } : { ...toCallerTool(declaration), name }
  return { tool, name: declaration.name, isCustom, path, ...(namespace !== undefined && { namespace }) }
}

const toCallerTool = ({ name, description, parameters, strict }: z.output<typeof functionTool>): CallerTool => ({
  name,
  inputSchema: parameters ?? { type: 'object', properties: {} },
  ...definedOnly({ description, strict }),
})

/** Combines name and namespace, because models know only one name. */
export const qualifyName = (name: string, namespace: string | null | undefined): string =>
  namespace ? `${namespace}${namespace.endsWith('__') ? '' : '__'}${name}` : name

export function toToolChoice(choice: ToolChoiceInput): ToolChoice {
  if (typeof choice === 'string') return choice
  return choice.type === 'allowed_tools' ? choice.mode : { name: qualifyName(choice.name, choice.namespace) }
}
