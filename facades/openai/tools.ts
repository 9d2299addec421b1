import { z } from 'zod'
import type { CoreRequest } from '../ai/types.ts'

/** Of a tool that the service has for the model, where others say what they run themselves. */
const reference = z.string()

/** A text is a reference, anything else a tool, so that what is wrong with a tool is told of its own members. */
export const toolOrReference = <Tool extends z.ZodType>(tool: Tool) =>
  z.unknown().transform((given, ctx): z.output<Tool> | string => {
    const parsed = (typeof given === 'string' ? reference : tool).safeParse(given)
    if (parsed.success) return parsed.data as z.output<Tool> | string
    ctx.issues.push(...(parsed.error.issues.map((issue) => ({ ...issue, input: given })) as typeof ctx.issues))
    return z.NEVER
  })

export const isOwn = <T extends object>(tool: T | string): tool is T => typeof tool !== 'string'

export function referencesAmong(tools: readonly unknown[] | null | undefined): Pick<CoreRequest, 'modelTools'> {
  const references = (tools ?? []).filter((tool) => typeof tool === 'string')
  return references.length > 0 ? { modelTools: references } : {}
}

type Path = readonly (string | number)[]

/** A path within the tools and references of our request as one within those on the wire, where both are one list. */
export function placeAmong(tools: readonly (object | string)[] | null | undefined, path: Path): Path {
  const [list, at, member, ...rest] = path
  if (typeof at !== 'number' || (list !== 'tools' && list !== 'modelTools')) return path
  const isMeant = (tool: object | string) => isOwn(tool) === (list === 'tools')
  const places = [...(tools ?? []).entries()].filter(([, tool]) => isMeant(tool))
  const [index = at, tool] = places[at] ?? []
  const inner = typeof tool === 'object' && 'function' in tool ? ['function'] : []
  const named = member === undefined ? [] : [...inner, member === 'inputSchema' ? 'parameters' : member]
  return ['tools', index, ...named, ...rest]
}
