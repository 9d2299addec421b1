import { z } from 'zod'
import type { Issue } from '../../core/problems.ts'
import { type Adapter, type NativeTool, nativeTools } from '../../ports/ai/adapters.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import type { ToolChoice } from '../../ports/ai/tools.ts'

type Tool = CallableModel['tools'][number]

const MAX_REFERENCES = 256
const MAX_REFERENCE = 2000

/** `capability:<key>:auto`, `:native` or `:<name>`, or `<name>`, with `:{}` behind it or not. */
export const toolReferences = z
  .array(z.string().min(1).max(MAX_REFERENCE))
  .max(MAX_REFERENCES, `must be at most ${MAX_REFERENCES} tools`)
  .describe(
    'Which tools of the model it may call: `<name>`, `capability:<key>:<name>`, `capability:<key>:native` for what the provider does itself, or `capability:<key>:auto` for that or else the first one that is good for it. When absent, all but those of the provider.',
  )

/** The tools of the service that the references select; all where there are none. */
export function selectedTools(model: CallableModel, references: readonly string[] | undefined): Tool[] {
  if (!references) return [...model.tools]
  const selected = new Set(references.map((reference) => resolve(model, reference)))
  return model.tools.filter((tool) => selected.has(tool))
}

interface Choosing {
  toolChoice?: ToolChoice | undefined
  modelTools?: readonly string[] | undefined
  /** Chosen before, as the model has them. */
  nativeTools?: readonly NativeTool[] | undefined
}

/** The tools of the provider that the references select. Where the caller says which tool is to be called, it is none of them. */
export function selectedNative(model: CallableModel, choosing: Choosing): NativeTool[] {
  const { toolChoice = 'auto', modelTools = [], nativeTools = [] } = choosing
  if (toolChoice !== 'auto') return []
  const selected = modelTools.map((reference) => resolve(model, reference))
  const named = selected.flatMap((found) => (typeof found === 'object' && 'native' in found ? found.native : []))
  return [...new Set([...named, ...nativeTools.filter((tool) => hasNative(model, tool))])]
}

/** References that select no tool which the model may call now. */
export function unknownReferences(model: CallableModel, references: readonly string[] = []): Issue[] {
  return references.flatMap((reference, at) => {
    const tool = resolve(model, reference)
    const message = model.settings?.toolCalling === false ? 'is nothing that this model takes' : tool
    return typeof message === 'string' ? [{ path: ['modelTools', at], message }] : []
  })
}

/** References to tools that the person must allow, where they cannot be asked. */
export function unaskableReferences(model: CallableModel, references: readonly string[] = []): Issue[] {
  return references.flatMap((reference, at) => {
    const tool = resolve(model, reference)
    if (typeof tool === 'string' || 'native' in tool || (tool.mcp?.server.requireApproval ?? 'never') === 'never')
      return []
    return [{ path: ['modelTools', at], message: 'must be allowed by the person, who cannot be asked here' }]
  })
}

/** The tool, or what is wrong with the reference. */
function resolve(model: CallableModel, reference: string): Tool | { native: NativeTool } | string {
  const read = parseReference(reference)
  if (!read) return 'must be <name>, capability:<key>:<name> or capability:<key>:auto'
  const { key, name, settings } = read
  if (settings !== undefined && !isEmptyObject(settings)) return 'has settings, which no tool of this service takes'
  if (key === undefined) return model.tools.find((tool) => tool.name === name) ?? NO_TOOL
  const native = name === 'native' || name === 'auto' ? nativeFor(model, key) : undefined
  if (native) return { native }
  if (name === 'native') return noNativeTool(key)
  return model.tools.find((tool) => tool.capability === key && (name === 'auto' || tool.name === name)) ?? NO_TOOL
}

const NO_TOOL = 'is no tool that this model may call'

const noNativeTool = (key: string) =>
  key === 'code_execution'
    ? 'would have the provider run code, of which no answer of this service can tell'
    : 'is a tool of the provider, which does no such thing for this model'

/** Whether the provider runs this tool for the model. */
export const hasNative = (model: CallableModel, tool: NativeTool): boolean => nativeFor(model, tool) === tool

/** What the provider itself does, where the model is said to have it and the service can ask for it. */
function nativeFor({ adapter, nativeCapabilities, settings }: CallableModel, key: string): NativeTool | undefined {
  if (settings?.nativeCapabilities === false || !nativeCapabilities.includes(key)) return undefined
  return nativeTools[adapter as Adapter].find((tool) => tool === key)
}

interface Parts {
  key?: string | undefined
  name: string
  settings: string | undefined
}

function parseReference(reference: string): Parts | undefined {
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
