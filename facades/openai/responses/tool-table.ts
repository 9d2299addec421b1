import type { Issue } from '../../../routers/core/problems.ts'
import type { CallerTool, JsonSchema, ToolChoice } from '../../../routers/ports/ai/tools.ts'
import { definedOnly } from '../../ai/request-body.ts'
import { filterAllowed, isDeclaration, toFunction } from '../openai-tools.ts'
import type { Item } from './responses-items.ts'
import {
  type CustomTool,
  type FunctionTool,
  isSearch,
  type Tool,
  type ToolChoiceInput,
  type Tools,
} from './responses-tools.ts'

/** The kind of item that a call of a tool becomes. */
type CallKind = 'function' | 'custom' | 'local_shell' | 'tool_search'

/** A declared tool with the names and the path of the caller. */
interface DeclaredTool {
  tool: CallerTool
  /** The caller's name of the tool. */
  name: string
  namespace?: string
  kind: CallKind
  path: Issue['path']
}

/** A tool or a reference, and its path in the request. */
interface Entry {
  entry: Tool | string
  path: Issue['path']
}

interface ToolsInRequest {
  tools?: Tools | null | undefined
  tool_choice?: ToolChoiceInput | null | undefined
  input: readonly Item[]
}

/** The tools of a request by the names for the model: those of `tools`, and those that items of the input bring. */
export class ToolTable {
  readonly declared: readonly DeclaredTool[]
  readonly references: readonly string[]
  readonly wantsSearch: boolean
  readonly choice: ToolChoice | undefined
  readonly #byName: ReadonlyMap<string, DeclaredTool>

  constructor({ tools, tool_choice: choice, input }: ToolsInRequest) {
    const all = [
      ...(tools ?? []).map((entry, at): Entry => ({ entry, path: ['tools', at] })),
      ...listBroughtTools(input),
    ]
    const allowed = typeof choice === 'object' && choice?.type === 'allowed_tools' ? choice : undefined
    const selected = new Set(
      filterAllowed(
        all.map(({ entry }) => entry),
        allowed,
        readEntryName,
      ),
    )
    const kept = all.filter(({ entry }) => selected.has(entry))
    this.declared = listDeclaredTools(kept)
    this.#byName = new Map(this.declared.map((one) => [one.tool.name, one]))
    this.references = all.map(({ entry }) => entry).filter((entry) => typeof entry === 'string')
    this.wantsSearch = kept.some(({ entry }) => typeof entry === 'object' && isSearch(entry))
    this.choice = choice ? this.#toToolChoice(choice) : undefined
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

  /** Converts the choice. If only a search may be called, it is the provider's. */
  #toToolChoice(choice: ToolChoiceInput): ToolChoice {
    if (typeof choice === 'object' && 'name' in choice)
      return { name: qualifyName(`${choice.name}`, readNamespace(choice)) }
    if (typeof choice === 'object' && choice.type !== 'allowed_tools') return { native: 'web_search' }
    const mode = typeof choice === 'string' ? choice : choice.mode
    return mode === 'required' && this.wantsSearch && this.declared.length === 0 ? { native: 'web_search' } : mode
  }
}

const readNamespace = (choice: object) => (choice as { namespace?: string | null }).namespace

const readEntryName = (entry: Tool) => ('name' in entry ? String(entry.name) : entry.type)

/** Lists the tools of items that bring some, such as the result of a search for tools. */
const listBroughtTools = (input: readonly Item[]): Entry[] =>
  input.flatMap((item, at) =>
    item.type === 'additional_tools' || item.type === 'tool_search_output'
      ? item.tools.map((entry, index): Entry => ({ entry, path: ['input', at, 'tools', index] }))
      : [],
  )

/**
 * Lists the tools by the names for the model. One that an item brings replaces an earlier one; a name that `tools` has
 * twice is refused later.
 */
function listDeclaredTools(entries: readonly Entry[]): DeclaredTool[] {
  const [own = [], brought = []] = [true, false].map((isOwn) =>
    entries.filter(({ path: [list] }) => (list === 'tools') === isOwn).flatMap(declareTools),
  )
  const latest = new Map(brought.map((one) => [one.tool.name, one]))
  return [...own.filter(({ tool }) => !latest.has(tool.name)), ...latest.values()]
}

function declareTools({ entry, path }: Entry): DeclaredTool[] {
  if (!isDeclaration(entry)) return []
  switch (entry.type) {
    case 'function':
    case 'custom':
      return [declareTool(entry, path)]
    case 'namespace':
      return entry.tools.map((inner, index) => declareTool(inner, [...path, 'tools', index], entry.name))
    case 'tool_search': {
      const { description, parameters } = entry
      const tool = { name: 'tool_search', inputSchema: parameters ?? searchSchema, ...definedOnly({ description }) }
      return [{ tool, name: tool.name, kind: 'tool_search', path }]
    }
    case 'local_shell':
      return [{ tool: localShell, name: localShell.name, kind: 'local_shell', path }]
    default:
      return []
  }
}

const searchSchema: JsonSchema = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] }

const localShell: CallerTool = {
  name: 'local_shell',
  description: "Runs a command on the user's machine.",
  inputSchema: {
    type: 'object',
    properties: {
      command: { type: 'array', items: { type: 'string' } },
      working_directory: { type: 'string' },
      timeout_ms: { type: 'integer' },
      env: { type: 'object', additionalProperties: { type: 'string' } },
    },
    required: ['command'],
  },
}

function declareTool(declaration: FunctionTool | CustomTool, path: Issue['path'], namespace?: string): DeclaredTool {
  const name = qualifyName(declaration.name, namespace)
  const tool = declaration.type === 'custom' ? toFunction(declaration) : toCallerTool(declaration)
  const named = { tool: { ...tool, name }, name: declaration.name, kind: declaration.type, path }
  return { ...named, ...(namespace !== undefined && { namespace }) }
}

const toCallerTool = ({ name, description, parameters, strict }: FunctionTool): CallerTool => ({
  name,
  inputSchema: parameters ?? { type: 'object', properties: {} },
  ...definedOnly({ description, strict }),
})

/** Combines name and namespace, because models know only one name. */
export const qualifyName = (name: string, namespace: string | null | undefined): string =>
  namespace ? `${namespace}${namespace.endsWith('__') ? '' : '__'}${name}` : name
