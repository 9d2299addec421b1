import { z } from 'zod'
import type { Issue } from '../../routers/core/problems.ts'
import type { CallerTool, JsonSchema } from '../../routers/ports/ai/tools.ts'
import type { CoreRequest } from '../ai/answer.ts'
import { textOr } from '../ai/validate-by.ts'

/** Accepts a tool of the caller, or a text that names a tool of the service. */
export const toolOrReference = <Tool extends z.ZodType>(tool: Tool) => textOr(z.string(), tool)

export const isDeclaration = <T extends object>(tool: T | string): tool is T => typeof tool !== 'string'

export function pickReferences(tools: readonly unknown[] | null | undefined): Pick<CoreRequest, 'modelTools'> {
  const references = (tools ?? []).filter((tool) => typeof tool === 'string')
  return references.length > 0 ? { modelTools: references } : {}
}

/** A selection of tools; the name is a member of the entry, or of an object named by its type. Hosted tools have none. */
export const allowedTools = {
  mode: z.enum(['auto', 'required']),
  tools: z.array(z.looseObject({ type: z.string(), name: z.string().nullish() })),
}
type AllowedTools = z.output<z.ZodObject<typeof allowedTools>>

/** Filters the allowed tools; returns all without a selection. */
export function filterAllowed<Tool extends object>(
  tools: readonly (Tool | string)[],
  allowed: AllowedTools | undefined,
  readName: (tool: Tool) => string,
): readonly (Tool | string)[] {
  if (!allowed) return tools
  const names = new Set(
    allowed.tools.map(({ type, name, ...more }) => name ?? (more[type] as { name?: unknown })?.name ?? type),
  )
  return tools.filter((tool) => !isDeclaration(tool) || names.has(readName(tool)))
}

type ClientTools = readonly (object | string)[] | null | undefined

/** Maps a path in our tools and references to the client's list, which holds both; we may have sent only some of them. */
export function mapToolPath(tools: ClientTools, path: Issue['path'], selected: ClientTools = tools): Issue['path'] {
  const [list, at, member, ...rest] = path
  if (typeof at !== 'number' || (list !== 'tools' && list !== 'modelTools')) return path
  const sent = new Set(selected)
  const isSent = (tool: object | string) => isDeclaration(tool) === (list === 'tools') && sent.has(tool)
  const entries = [...(tools ?? []).entries()].filter(([, tool]) => isSent(tool))
  const [index = at, tool] = entries[at] ?? []
  const inner = typeof tool === 'object' ? ['function', 'custom'].filter((name) => name in tool) : []
  const named = member === undefined ? [] : [...inner, member === 'inputSchema' ? 'parameters' : member]
  return ['tools', index, ...named, ...rest]
}

/** The format of a custom tool: any text, or a grammar. */
const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.object({
    type: z.literal('grammar'),
    syntax: z.string().nullish(),
    definition: z.string().nullish(),
    grammar: z.strictObject({ syntax: z.string(), definition: z.string() }).nullish(),
  }),
])

export const customTool = {
  name: z.string(),
  description: z.string().nullish(),
  format: format.nullish(),
}
type CustomTool = z.output<z.ZodObject<typeof customTool>>

const inputSchema: JsonSchema = {
  type: 'object',
  properties: { input: { type: 'string' } },
  required: ['input'],
  additionalProperties: false,
}

/**
 * Converts a custom tool to a function with one text. Providers do not know the grammar, so the model reads it in the
 * description.
 */
export function toFunction({ name, description, format }: CustomTool): CallerTool {
  const grammar = format?.type === 'grammar' ? (format.grammar ?? format) : undefined
  const rule = grammar?.definition
    ? `The text in \`input\` must follow this grammar (${grammar.syntax ?? 'lark'}):\n${grammar.definition}`
    : undefined
  const fullDescription = [description, rule].filter(Boolean).join('\n\n')
  return { name, inputSchema, ...(fullDescription && { description: fullDescription }) }
}

/** Reads the text of a custom tool call; unexpected JSON is returned as it is. */
export function readCustomInput(text: string): string {
  try {
    const { input } = JSON.parse(text) as { input?: unknown }
    return typeof input === 'string' ? input : text
  } catch {
    return text
  }
}

/** Writes the arguments of the function for a text. */
export const writeCustomArguments = (input: string): string => JSON.stringify({ input })
