import { z } from 'zod'
import type { Issue } from '../../core/problems.ts'
import { type Adapter, adaptersWithoutForcedTools, type NativeTool, nativeTools } from '../../ports/ai/adapters.ts'
import type { CallableModel, CallParameters } from '../../ports/ai/models.ts'
import { readForcedNativeTool, type ToolChoice } from '../../ports/ai/tools.ts'

type Tool = CallableModel['tools'][number]

const MAX_REFERENCES = 256
const MAX_REFERENCE = 2000

/**
 * Accepts `capability:<key>:auto`, `capability:<key>:native`, `capability:<key>:<name>` or `<name>`, optionally
 * followed by `:{}`.
 */
export const toolReferences = z
  .array(z.string().min(1).max(MAX_REFERENCE))
  .max(MAX_REFERENCES, `must be at most ${MAX_REFERENCES} tools`)
  .describe(
    "The tools that the model may call: `<name>`, `capability:<key>:<name>`, `capability:<key>:native` for the provider's own tool, or `capability:<key>:auto` for that tool or else the first one with this capability. If absent, the model may call all tools but those of the provider.",
  )

/** The tools of the model that a request selects. */
export interface SelectedTools {
  /** Tools of the service. */
  tools: readonly Tool[]
  /** Tools of the provider. */
  nativeTools: NativeTool[]
}

export const selectModelTools = (model: CallableModel, request: ToolSelection): SelectedTools => ({
  tools: selectTools(model, request.modelTools),
  nativeTools: selectNativeTools(model, request),
})

/** Returns the service's tools that the references select; all tools without references. */
function selectTools(model: CallableModel, references: readonly string[] | undefined): Tool[] {
  if (!references) return [...model.tools]
  const selected = new Set(references.map((reference) => resolveReference(model, reference)))
  return model.tools.filter((tool) => selected.has(tool))
}

interface ToolSelection {
  toolChoice?: ToolChoice | undefined
  modelTools?: readonly string[] | undefined
  /** Native tools that were already chosen for the model. */
  nativeTools?: readonly NativeTool[] | undefined
}

/**
 * Returns the provider's native tools that the references select: only the one that the caller forces, and none if the
 * model must call another tool or none.
 */
export function selectNativeTools(model: CallableModel, selection: ToolSelection): NativeTool[] {
  const { toolChoice = 'auto', modelTools = [], nativeTools = [] } = selection
  const forced = readForcedNativeTool(toolChoice)
  if (forced) return hasNativeTool(model, forced) ? [forced] : []
  if (toolChoice !== 'auto' && toolChoice !== 'required') return []
  const selected = modelTools.map((reference) => resolveReference(model, reference))
  const namedTools = selected.flatMap((found) => (typeof found === 'object' && 'native' in found ? found.native : []))
  return [...new Set([...namedTools, ...nativeTools.filter((tool) => hasNativeTool(model, tool))])]
}

interface OptionalTools {
  /** Optional tools that the model supports together with the rest of the request. */
  nativeTools: readonly NativeTool[]
  /** Optional tools that are left out, and the choice of a tool that the provider does not let callers force. */
  unsent: string[]
}

/** Chooses among the native tools that the caller leaves to the service. */
export function chooseOptionalTools(
  request: ToolRequest & { optionalTools?: readonly NativeTool[] | undefined },
  model: CallableModel,
): OptionalTools {
  const { optionalTools = [], toolChoice } = request
  const forced = readForcedNativeTool(toolChoice)
  const supported = optionalTools.filter((tool) => hasNativeTool(model, tool))
  // A conflict with a tool that must be called is reported.
  const isKept =
    supported.length === 0 || forced || findNativeConflicts({ ...request, nativeTools: supported }, model).length === 0
  const chosen = isKept ? supported : []
  if (toolChoice === 'none') return { nativeTools: chosen, unsent: [] }
  const sent = optionalTools.length > 0 ? selectNativeTools(model, { ...request, nativeTools: chosen }) : []
  const isUnforced = forced && adaptersWithoutForcedTools.has(model.adapter)
  const unsent = [...optionalTools.filter((tool) => !sent.includes(tool)), ...(isUnforced ? ['toolChoice'] : [])]
  return { nativeTools: chosen, unsent }
}

/** Returns issues for references to tools that the model cannot call. */
export function findUnknownReferences(model: CallableModel, references: readonly string[] = []): Issue[] {
  return references.flatMap((reference, at) => {
    const tool = resolveReference(model, reference)
    const message = model.settings?.toolCalling === false ? 'is nothing that this model takes' : tool
    return typeof message === 'string' ? [{ path: ['modelTools', at], message }] : []
  })
}

/** True if the model can call the tool that the reference names. */
export const canCallTool = (model: CallableModel, reference: string): boolean =>
  findUnknownReferences(model, [reference]).length === 0

/** Returns issues for references to tools that need an approval where the person cannot be asked. */
export function findUnaskableReferences(model: CallableModel, references: readonly string[] = []): Issue[] {
  return references.flatMap((reference, at) => {
    const tool = resolveReference(model, reference)
    if (typeof tool === 'string' || 'native' in tool || (tool.mcp?.server.requireApproval ?? 'never') === 'never')
      return []
    return [{ path: ['modelTools', at], message: 'must be allowed by the person, who cannot be asked here' }]
  })
}

/** The parts of a request that may conflict with native tools. */
interface ToolRequest extends ToolSelection {
  tools: readonly { name: string }[]
  parameters: CallParameters
  format?: object | undefined
}

const createConflict = (path: Issue['path']): Issue => ({
  path,
  message: 'cannot be set beside a tool of the provider',
})

/**
 * Finds settings that cannot be combined with native tools, because the provider would silently ignore one of the two.
 */
export function findNativeConflicts(request: ToolRequest, model: CallableModel): Issue[] {
  const native = new Set<string>(selectNativeTools(model, request))
  if (native.size === 0) return []
  const issues = request.tools.flatMap(({ name }, at) =>
    native.has(name) ? createConflict(['tools', at, 'name']) : [],
  )
  if (model.adapter === 'openai') issues.push(...findOpenAiConflicts(request))
  if (model.adapter === 'google') issues.push(...findGoogleConflicts(request, model))
  return issues
}

/** Only OpenAI's older API supports these parameters, and it has no native tools. */
const findOpenAiConflicts = ({ parameters }: ToolRequest): Issue[] =>
  (['stop', 'seed'] as const).flatMap((name) =>
    parameters[name] === undefined ? [] : createConflict(['parameters', name]),
  )

/** Most Google models allow native tools only without other tools. */
function findGoogleConflicts({ tools, modelTools = [], format }: ToolRequest, model: CallableModel): Issue[] {
  const isServiceTool = (reference: string) => selectTools(model, [reference]).length > 0
  return [
    ...(tools.length > 0 ? [createConflict(['tools'])] : []),
    ...modelTools.flatMap((reference, at) => (isServiceTool(reference) ? createConflict(['modelTools', at]) : [])),
    ...(format ? [createConflict(['format'])] : []),
  ]
}

/** Returns the tool, or a message about the reference. */
function resolveReference(model: CallableModel, reference: string): Tool | { native: NativeTool } | string {
  const parsed = parseReference(reference)
  if (!parsed) return 'must be <name>, capability:<key>:<name> or capability:<key>:auto'
  const { key, name, settings } = parsed
  if (settings !== undefined && !isEmptyObject(settings)) return 'has settings, which no tool of this service takes'
  if (key === undefined) return model.tools.find((tool) => tool.name === name) ?? NO_TOOL
  const native = name === 'native' || name === 'auto' ? findNativeTool(model, key) : undefined
  if (native) return { native }
  if (name === 'native') return describeMissingNativeTool(key)
  return model.tools.find((tool) => tool.capability === key && (name === 'auto' || tool.name === name)) ?? NO_TOOL
}

const NO_TOOL = 'is no tool that this model may call'

const describeMissingNativeTool = (key: string) =>
  key === 'code_execution'
    ? 'would have the provider run code, of which no answer of this service can tell'
    : 'is a tool of the provider, which does no such thing for this model'

/** True if the provider runs this tool for the model. */
export const hasNativeTool = (model: CallableModel, tool: NativeTool): boolean => findNativeTool(model, tool) === tool

/** Returns the native tool if the model is configured with it and the adapter supports it. */
function findNativeTool({ adapter, nativeCapabilities, settings }: CallableModel, key: string): NativeTool | undefined {
  if (settings?.nativeCapabilities === false || !nativeCapabilities.includes(key)) return undefined
  return nativeTools[adapter as Adapter].find((tool) => tool === key)
}

interface ParsedReference {
  key?: string | undefined
  name: string
  settings: string | undefined
}

function parseReference(reference: string): ParsedReference | undefined {
  const isByCapability = reference.startsWith('capability:')
  const pattern = isByCapability ? /^capability:([^:]+):([^:]+)(?::(.*))?$/s : /^()([^:]+)(?::(.*))?$/s
  const [whole, key, name, settings] = pattern.exec(reference) ?? []
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
