import { z } from 'zod'
import type { Issue } from '../../core/problems.ts'
import type { CallableModel } from '../../ports/ai/models.ts'

type Tool = CallableModel['tools'][number]

const MAX_REFERENCES = 256
const MAX_REFERENCE = 2000

/** `capability:<key>:auto`, `capability:<key>:<name>` or `<name>`, with `:{}` behind it or not. */
export const toolReferences = z
  .array(z.string().min(1).max(MAX_REFERENCE))
  .max(MAX_REFERENCES, `must be at most ${MAX_REFERENCES} tools`)
  .describe(
    'Which tools of the model it may call: `<name>`, `capability:<key>:<name>`, or `capability:<key>:auto` for the first one that is good for it. All of them when absent.',
  )

/** The tools that the references select; all where there are none. */
export function selectedTools<T extends Tool>(tools: readonly T[], references: readonly string[] | undefined): T[] {
  if (!references) return [...tools]
  const selected = new Set(references.map((reference) => resolve(tools, reference)))
  return tools.filter((tool) => selected.has(tool))
}

/** References that select no tool which the model may call now. */
export function unknownReferences({ tools, settings }: CallableModel, references: readonly string[] = []): Issue[] {
  return references.flatMap((reference, at) => {
    const tool = resolve(tools, reference)
    const message = settings?.toolCalling === false ? 'is nothing that this model takes' : tool
    return typeof message === 'string' ? [{ path: ['modelTools', at], message }] : []
  })
}

/** References to tools that the person must allow, where they cannot be asked. */
export function unaskableReferences({ tools }: CallableModel, references: readonly string[] = []): Issue[] {
  return references.flatMap((reference, at) => {
    const tool = resolve(tools, reference)
    if (typeof tool === 'string' || (tool.mcp?.server.requireApproval ?? 'never') === 'never') return []
    return [{ path: ['modelTools', at], message: 'must be allowed by the person, who cannot be asked here' }]
  })
}

/** The tool, or what is wrong with the reference. */
function resolve<T extends Tool>(tools: readonly T[], reference: string): T | string {
  const read = partsOf(reference)
  if (!read) return 'must be <name>, capability:<key>:<name> or capability:<key>:auto'
  const { key, name, settings } = read
  if (settings !== undefined && !isEmptyObject(settings)) return 'has settings, which no tool of this service takes'
  const tool = key === undefined ? tools.find((tool) => tool.name === name) : ableTool(tools, key, name)
  if (key !== undefined && name === 'native') return tool ?? 'is a tool of the provider, none of which is used here'
  return tool ?? 'is no tool that this model may call'
}

const ableTool = <T extends Tool>(tools: readonly T[], key: string, name: string) =>
  tools.find((tool) => tool.capability === key && (name === 'auto' || tool.name === name))

interface Parts {
  key?: string | undefined
  name: string
  settings: string | undefined
}

function partsOf(reference: string): Parts | undefined {
  const isByCapability = reference.startsWith('capability:')
  const form = isByCapability ? /^capability:([^:]+):([^:]+)(?::(.*))?$/s : /^()([^:]+)(?::(.*))?$/s
  const [whole, key, name, settings] = form.exec(reference) ?? []
  return whole === undefined || name === undefined ? undefined : { ...(isByCapability && { key }), name, settings }
}

function isEmptyObject(settings: string): boolean {
  try {
    const value: unknown = JSON.parse(settings)
    return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0
  } catch {
    return false
  }
}
