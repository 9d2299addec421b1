import { openApiDocument } from '../../../facades/docs/document.ts'
import { wireNames } from '../../../facades/http/names.ts'
import { appRouter, resources } from '../../../routers/index.ts'
import { describedEndpoints } from '../../../server/described-endpoints.ts'
import { guides } from '../../../server/guides.ts'

export const BASE = '/api/svc/v1'

export const MEDIA = 'application/vnd.api+json'

interface Parameter {
  name: string
  in: string
  schema: { items?: { enum: string[] }; maximum?: number; default?: number; maxItems?: number }
  explode?: boolean
}

export interface Operation {
  operationId: string
  summary: string
  parameters: (Parameter | { $ref: string })[]
  requestBody?: { content: Record<string, { schema: BodySchema }> }
  responses: Record<string, object>
  security: Record<string, string[]>[]
  tags: string[]
}

interface BodySchema {
  properties: {
    data: { properties: { attributes?: { required?: string[] }; relationships?: { required?: string[] } } }
  }
}

interface Shared {
  schemas: Record<string, { properties: { attributes: { properties: object; required?: string[] } } }>
  parameters: Record<string, Parameter>
}

export interface OpenApi {
  paths: Record<string, Record<string, Operation>>
  components: Shared
  tags: { name: string; description: string }[]
  info: { description: string }
}

const names = wireNames('svc')
const made = openApiDocument({
  ...{ router: appRouter, resources, names, baseUrl: '' },
  endpoints: describedEndpoints(names),
  guides,
})

export const openApi = JSON.parse(JSON.stringify(made)) as OpenApi

export const everything = Object.entries(openApi.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)

/** Those of JSON:API, by their paths below its base. */
export const operations = everything
  .filter(({ path, operation }) => path.startsWith(BASE) && !operation.tags.includes('links'))
  .map((it) => ({ ...it, path: it.path.slice(BASE.length) }))

export const operationOf = (method: string, path: string) => openApi.paths[BASE + path]![method.toLowerCase()]!

export const parametersOf = ({ parameters }: Operation) =>
  parameters.map((it) => ('$ref' in it ? openApi.components.parameters[it.$ref.split('/').at(-1)!]! : it))
