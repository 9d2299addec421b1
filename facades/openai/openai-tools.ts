import { z } from 'zod'
import type { CallerTool, JsonSchema } from '../../routers/ports/ai/tools.ts'
import type { CoreRequest } from '../ai/answer.ts'
import { textOr } from '../ai/request-body.ts'

/** A text is a reference to a tool that the service has for the model, where others say what they run themselves. */
export const toolOrReference = <Tool extends z.ZodType>(tool: Tool) => textOr(z.string(), tool)

export const isDeclaration = <T extends object>(tool: T | string): tool is T => typeof tool !== 'string'

export function pickReferences(tools: readonly unknown[] | null | undefined): Pick<CoreRequest, 'modelTools'> {
  const references = (tools ?? []).filter((tool) => typeof tool === 'string')
  return references.length > 0 ? { modelTools: references } : {}
}

/** A choice of some of the tools; each has its name in its own member, or in one of the name of its type. */
export const allowedTools = {
  mode: z.enum(['auto', 'required']),
  tools: z.array(z.looseObject({ type: z.string(), name: z.string().nullish() })),
}
type AllowedTools = z.output<z.ZodObject<typeof allowedTools>>

/** Those of the tools that may be called; all where nothing is said. */
export function filterAllowed<Tool extends object>(
  tools: readonly (Tool | string)[],
  allowed: AllowedTools | undefined,
  readName: (tool: Tool) => string,
): readonly (Tool | string)[] {
  if (!allowed) return tools
  const names = new Set(
    allowed.tools.map(({ type, name, ...more }) => name ?? (more[type] as { name?: unknown })?.name),
  )
  return tools.filter((tool) => !isDeclaration(tool) || names.has(readName(tool)))
}

type Path = readonly (string | number)[]

/** A path within the tools and references of our request as one within those on the wire, where both are one list. */
export function mapToolPath(tools: readonly (object | string)[] | null | undefined, path: Path): Path {
  const [list, at, member, ...rest] = path
  if (typeof at !== 'number' || (list !== 'tools' && list !== 'modelTools')) return path
  const isMeant = (tool: object | string) => isDeclaration(tool) === (list === 'tools')
  const places = [...(tools ?? []).entries()].filter(([, tool]) => isMeant(tool))
  const [index = at, tool] = places[at] ?? []
  const inner = typeof tool === 'object' ? ['function', 'custom'].filter((name) => name in tool) : []
  const named = member === undefined ? [] : [...inner, member === 'inputSchema' ? 'parameters' : member]
  return ['tools', index, ...named, ...rest]
}

/** What a tool without a schema takes: any text, or one of a grammar. */
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

/** A custom tool as a function of one text. Providers are not told the grammar in words of their own, so the model reads it. */
export function toFunction({ name, description, format }: CustomTool): CallerTool {
  const grammar = format?.type === 'grammar' ? (format.grammar ?? format) : undefined
  const rule = grammar?.definition
    ? `The text in \`input\` must follow this grammar (${grammar.syntax ?? 'lark'}):\n${grammar.definition}`
    : undefined
  const fullDescription = [description, rule].filter(Boolean).join('\n\n')
  return { name, inputSchema, ...(fullDescription && { description: fullDescription }) }
}

/** The text that a model calls a custom tool with; what is not the object that it was told to write is the text itself. */
export function readCustomInput(text: string): string {
  try {
    const { input } = JSON.parse(text) as { input?: unknown }
    return typeof input === 'string' ? input : text
  } catch {
    return text
  }
}

/** The arguments of the function for a text. */
export const writeCustomArguments = (input: string): string => JSON.stringify({ input })
