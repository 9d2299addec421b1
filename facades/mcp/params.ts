import { PROTOCOL_VERSION_META_KEY, specTypeSchemas } from '@modelcontextprotocol/server'
import { z } from 'zod'

const _meta = z.looseObject({ progressToken: z.union([z.string(), z.number()]).optional() }).optional()
const members = <Shape extends z.ZodRawShape>(shape: Shape) => z.looseObject({ ...shape, _meta })
const values = z.record(z.string(), z.unknown()).optional()
const page = members({ cursor: z.string().optional() }).optional()

/** The methods that the gateway answers, with the parameters of each. */
const paramSchemas = {
  'tools/list': page,
  'prompts/list': page,
  'resources/list': page,
  'resources/templates/list': page,
  'tools/call': members({ name: z.string(), arguments: values }),
  'prompts/get': members({ name: z.string(), arguments: values }),
  'resources/read': members({ uri: z.string() }),
}
export type GatewayMethod = keyof typeof paramSchemas

export const isGatewayMethod = (method: unknown): method is GatewayMethod =>
  typeof method === 'string' && Object.hasOwn(paramSchemas, method)

/** Returns what is wrong with the parameters of a request, in a sentence; undefined if they fit. */
export function findParamIssue({ method, params }: { method?: unknown; params?: unknown }): string | undefined {
  if (isGatewayMethod(method)) return describe(paramSchemas[method].safeParse(params).error?.issues, 'params')
  // The newest revision has no such method, as the library says.
  if (method !== 'initialize' || isModern(params)) return undefined
  const checked = specTypeSchemas.InitializeRequest['~standard'].validate({ method, params })
  return describe('issues' in checked ? checked.issues : undefined)
}

const isModern = (params: unknown) =>
  (params as { _meta?: Record<string, unknown> } | undefined)?._meta?.[PROTOCOL_VERSION_META_KEY] !== undefined

type Issues = readonly { message: string; path?: readonly unknown[] | undefined }[]

function describe(issues: Issues | undefined, ...start: string[]): string | undefined {
  const [issue] = issues ?? []
  return (
    issue &&
    `Invalid params: ${[...start, ...(issue.path ?? [])].map(String).join('.').slice(0, 200)} ${issue.message}.`
  )
}
