import type { Issue } from '../../routers/core/problems.ts'
import { clientToolNames, type NativeTool } from '../../routers/ports/ai/adapters.ts'
import type { CallerTool, ToolChoice } from '../../routers/ports/ai/tools.ts'
import { readCacheMark } from '../ai/cache-control.ts'
import { definedOnly } from '../ai/request-body.ts'
import type { MessageOnWire } from './messages-blocks.ts'
import type { ClientTool, Tool, ToolChoiceInput } from './messages-tools.ts'

/** A tool with its path in the request. */
interface Entry {
  name: string
  tool: Tool
  path: Issue['path']
}

type Block = NonNullable<MessageOnWire['content']>[number]

interface ToolsInRequest {
  tools?: readonly Tool[] | null | undefined
  messages: readonly MessageOnWire[]
}

/** The tools of a request: those of `tools`, with the changes that its messages make. */
export class ToolTable {
  /** Tools of the provider. */
  readonly optional: readonly NativeTool[]
  readonly #own: readonly Entry[]
  /** Names by which the request calls tools of the provider. */
  readonly #native: ReadonlyMap<string, NativeTool>

  constructor(request: ToolsInRequest) {
    const entries = listOfferedTools(request)
    this.#own = entries.filter(({ tool }) => !findNativeTool(tool))
    this.#native = new Map(
      entries.flatMap(({ name, tool }) => {
        const native = findNativeTool(tool)
        return native ? [[name, native] as const] : []
      }),
    )
    this.optional = [...new Set(this.#native.values())]
  }

  /** The tools that the caller runs. */
  get own(): CallerTool[] {
    return this.#own.flatMap(({ tool }) => toCallerTool(tool) ?? [])
  }

  /** Converts the choice. A tool of the provider is forced by its name, or as the only one. */
  toToolChoice(choice: ToolChoiceInput): ToolChoice {
    if (choice.type === 'tool') {
      const native = this.#native.get(choice.name)
      return native ? { native } : { name: choice.name }
    }
    if (choice.type !== 'any') return choice.type
    const [only] = this.optional
    return only && this.#own.length === 0 ? { native: only } : 'required'
  }

  /** Maps a path in our tools to the request. */
  mapPath(path: Issue['path']): Issue['path'] {
    const [list, at, ...rest] = path
    const entry = list === 'tools' && typeof at === 'number' ? this.#own[at] : undefined
    return entry ? [...entry.path, ...rest] : path
  }
}

/**
 * Lists the tools that are offered at the end of the conversation. One that a message adds replaces an earlier one; a
 * name that `tools` has twice is refused later.
 */
function listOfferedTools({ tools, messages }: ToolsInRequest): Entry[] {
  const offered = new Map<string, Entry>()
  const removed = new Map<string, Entry>()
  for (const { name, tool, path, isRemoval } of listToolChanges({ tools, messages })) {
    const entry = tool ? { name, tool, path } : (offered.get(name) ?? removed.get(name))
    offered.delete(name)
    if (entry) (isRemoval ? removed : offered).set(name, entry)
  }
  return [...offered.values(), ...listRepeated(tools ?? [])]
}

/** Lists the tools whose names earlier ones have. */
function listRepeated(tools: readonly Tool[]): Entry[] {
  const names = new Set<string>()
  return tools.flatMap((tool, at) => {
    if (!('name' in tool)) return []
    if (names.has(tool.name)) return [{ name: tool.name, tool, path: ['tools', at] }]
    names.add(tool.name)
    return []
  })
}

/** An addition of a tool, perhaps of one that was defined before, or its removal. */
interface ToolChange extends Omit<Entry, 'tool'> {
  tool?: Tool | undefined
  isRemoval: boolean
}

function listToolChanges({ tools, messages }: ToolsInRequest): ToolChange[] {
  return [
    ...(tools ?? []).flatMap((tool, at) => toAddition(tool, ['tools', at])),
    ...messages.flatMap(({ content }, at) =>
      (content ?? []).flatMap((block, index) => toToolChange(block, ['messages', at, 'content', index])),
    ),
  ]
}

const toAddition = (tool: Tool, path: Issue['path']): ToolChange[] =>
  'name' in tool ? [{ name: tool.name, tool, path, isRemoval: false }] : []

function toToolChange(block: Block, path: Issue['path']): ToolChange[] {
  if (block.type !== 'tool_addition' && block.type !== 'tool_removal') return []
  const { type, tool } = block
  if (!tool || tool.type === 'omitted') return []
  if (tool.type === 'tool_definition')
    return tool.definition ? toAddition(tool.definition, [...path, 'tool', 'definition']) : []
  return [{ name: tool.name, path, isRemoval: type === 'tool_removal' }]
}

const findNativeTool = ({ type }: Tool): NativeTool | undefined =>
  (['web_search', 'web_fetch'] as const).find((name) => type?.startsWith(`${name}_`))

function toCallerTool(tool: Tool): CallerTool | undefined {
  if ('input_schema' in tool) {
    const { name, description, input_schema: inputSchema, strict } = tool
    return { name, inputSchema, ...definedOnly({ description, strict }), ...readCacheMark(tool) }
  }
  return isClientTool(tool)
    ? { name: tool.name, inputSchema: { type: 'object' }, clientTool: toClientTool(tool) }
    : undefined
}

const isClientTool = (tool: Tool): tool is ClientTool => Object.hasOwn(clientToolNames, `${tool.type}`)

const toClientTool = ({ type, ...options }: ClientTool) => ({
  type,
  options: definedOnly({
    displayWidthPx: options.display_width_px,
    displayHeightPx: options.display_height_px,
    displayNumber: options.display_number,
    enableZoom: options.enable_zoom,
    maxCharacters: options.max_characters,
  }) as Record<string, number | boolean>,
})
