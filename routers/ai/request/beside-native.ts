import type { Issue } from '../../core/problems.ts'
import type { NativeTool } from '../../ports/ai/adapters.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import { hasNative, selectedNative, selectedTools } from './references.ts'
import type { AiRequest } from './request.ts'

const besides = (path: Issue['path']): Issue => ({ path, message: 'cannot be set beside a tool of the provider' })

/** What cannot be asked for along with tools that the provider runs itself: it would pass over one of the two in silence. */
export function besideNative(request: AiRequest, model: CallableModel): Issue[] {
  const native = new Set<string>(selectedNative(model, request))
  if (native.size === 0) return []
  const issues = request.tools.flatMap(({ name }, at) => (native.has(name) ? besides(['tools', at, 'name']) : []))
  if (model.adapter === 'openai') issues.push(...besideOpenAis(request))
  if (model.adapter === 'google') issues.push(...besideGoogles(request, model))
  return issues
}

/** Those of the optional tools that the provider runs for this model beside what else is asked for. */
export function availableNative(request: AiRequest, model: CallableModel): readonly NativeTool[] {
  const nativeTools = (request.optionalTools ?? []).filter((tool) => hasNative(model, tool))
  return besideNative({ ...request, nativeTools }, model).length === 0 ? nativeTools : []
}

/** Its older API, which alone has words for these, runs no tools. */
const besideOpenAis = ({ parameters }: AiRequest): Issue[] =>
  (['stop', 'seed'] as const).flatMap((name) => (parameters[name] === undefined ? [] : besides(['parameters', name])))

/** Most of its models take its own tools alone. */
function besideGoogles({ tools, modelTools = [], format }: AiRequest, model: CallableModel): Issue[] {
  const isOwn = (reference: string) => selectedTools(model, [reference]).length > 0
  return [
    ...(tools.length > 0 ? [besides(['tools'])] : []),
    ...modelTools.flatMap((reference, at) => (isOwn(reference) ? besides(['modelTools', at]) : [])),
    ...(format ? [besides(['format'])] : []),
  ]
}
