import { z } from 'zod'
import { textOr } from '../ai/parameters.ts'
import type { CoreRequest } from '../ai/types.ts'

/** A text is a reference to a tool that the service has for the model, where others say what they run themselves. */
export const toolOrReference = <Tool extends z.ZodType>(tool: Tool) => textOr(z.string(), tool)

export const isOwn = <T extends object>(tool: T | string): tool is T => typeof tool !== 'string'

export function referencesAmong(tools: readonly unknown[] | null | undefined): Pick<CoreRequest, 'modelTools'> {
  const references = (tools ?? []).filter((tool) => typeof tool === 'string')
  return references.length > 0 ? { modelTools: references } : {}
}

/** A choice of some of the tools; each has its name in its own member, or in one of the name of its type. */
export const allowedTools = {
  mode: z.enum(['auto', 'required']),
  tools: z.array(z.looseObject({ type: z.string(), name: z.string().nullish() })),
}
type Allowed = z.output<z.ZodObject<typeof allowedTools>>

/** Those of the tools that may be called; all where nothing is said. */
export function narrowed<Tool extends object>(
  tools: readonly (Tool | string)[],
  allowed: Allowed | undefined,
  nameOf: (tool: Tool) => string,
): readonly (Tool | string)[] {
  if (!allowed) return tools
  const names = new Set(
    allowed.tools.map(({ type, name, ...more }) => name ?? (more[type] as { name?: unknown })?.name),
  )
  return tools.filter((tool) => !isOwn(tool) || names.has(nameOf(tool)))
}

type Path = readonly (string | number)[]

/** A path within the tools and references of our request as one within those on the wire, where both are one list. */
export function placeAmong(tools: readonly (object | string)[] | null | undefined, path: Path): Path {
  const [list, at, member, ...rest] = path
  if (typeof at !== 'number' || (list !== 'tools' && list !== 'modelTools')) return path
  const isMeant = (tool: object | string) => isOwn(tool) === (list === 'tools')
  const places = [...(tools ?? []).entries()].filter(([, tool]) => isMeant(tool))
  const [index = at, tool] = places[at] ?? []
  const inner = typeof tool === 'object' ? ['function', 'custom'].filter((name) => name in tool) : []
  const named = member === undefined ? [] : [...inner, member === 'inputSchema' ? 'parameters' : member]
  return ['tools', index, ...named, ...rest]
}
