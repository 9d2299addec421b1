import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import fc from 'fast-check'
import { buildOpenApiDocument } from '../../../facades/docs/document.ts'
import { createWireNames } from '../../../facades/http/names.ts'
import { listEndpoints } from '../../../server/endpoint-docs.ts'
import { guides } from '../../../server/guides.ts'
import { allResources, wholeRouter } from './assistants.ts'

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

const names = createWireNames('svc')
const document = buildOpenApiDocument({
  router: wholeRouter,
  resources: allResources,
  names,
  baseUrl: '',
  endpoints: listEndpoints(names),
  guides,
})

export const openApi = JSON.parse(JSON.stringify(document)) as OpenApi

export const allOperations = Object.entries(openApi.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)

/** The operations of JSON:API, with paths below its base. */
export const jsonApiOperations = allOperations
  .filter(({ path, operation }) => path.startsWith(BASE) && !operation.tags.includes('links'))
  .map((it) => ({ ...it, path: it.path.slice(BASE.length) }))

export const operationOf = (method: string, path: string) => openApi.paths[BASE + path]![method.toLowerCase()]!

export const parametersOf = ({ parameters }: Operation) =>
  parameters.map((it) => ('$ref' in it ? openApi.components.parameters[it.$ref.split('/').at(-1)!]! : it))

const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false })

formats.default(ajv)

ajv.addSchema(openApi as object, 'svc')

const encodePointerStep = (step: string) => encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'))

/** Returns the errors of a value by the schema at a path of the document. */
export function findSchemaErrors(value: unknown, ...steps: string[]) {
  // The schema is looked up by its path, so that each is compiled once.
  const validate = ajv.getSchema(`svc#/${steps.map(encodePointerStep).join('/')}`)
  if (!validate) throw new Error(`no schema at ${steps.join(' ')}`)
  return validate(value) ? [] : validate.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`)
}

/** Returns the errors of a response by the description of its operation. */
export function findResponseErrors(method: string, path: string, status: number, body: unknown) {
  const schemaPath = ['paths', BASE + path, method.toLowerCase(), 'responses', String(status)]
  const response = operationOf(method, path).responses[status]
  if (!response) return [`the status ${status} is not described`]
  const at = '$ref' in response ? ['components', 'responses', String(status)] : schemaPath
  return findSchemaErrors(body, ...at, 'content', MEDIA, 'schema')
}

/** Returns the errors of a request body. */
export const findBodyErrors = (method: string, path: string, body: unknown, media = MEDIA) =>
  findSchemaErrors(body, 'paths', BASE + path, method.toLowerCase(), 'requestBody', 'content', media, 'schema')

/** Queries with each described value, which are answered, and with one beyond them, which are not. */
export const buildQueries = (operation: Operation) =>
  parametersOf(operation)
    .filter((it) => it.in === 'query')
    .flatMap(({ name, schema }) => {
      const isPage = name.startsWith('page')
      const good = schema.items?.enum ?? (isPage ? [schema.default, schema.maximum] : [])
      const bad = schema.items ? ['none'] : isPage ? [Number(schema.maximum) + 1, 0] : []
      return [
        ...good.map((value) => ({ query: `?${name}=${value}`, status: 200 })),
        ...bad.map((value) => ({ query: `?${name}=${value}`, status: 400 })),
      ]
    })

const junk = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', -1, 2 ** 53, 'true', null),
)

/** A request as it might be, with values that are described and values that are not. */
export function anyOperationRequest(method: string, path: string, operation: Operation) {
  const [, type = ''] = path.split('/')
  const parameters = parametersOf(operation).filter((it) => it.in === 'query')
  const parameter = fc
    .constantFrom(...parameters, { name: 'unheardOf', in: 'query', schema: {} })
    .chain(({ name, schema }) =>
      fc
        .oneof(fc.constantFrom<unknown>(...(schema.items?.enum ?? [schema.default, schema.maximum, 1])), junk)
        .map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value).toWellFormed())}`),
    )
  const { attributes = {}, relationships = {} } =
    (operation.requestBody?.content[MEDIA]?.schema.properties?.data as { properties?: Described } | undefined)
      ?.properties ?? {}
  const someOf = (names: string[], value: fc.Arbitrary<unknown>) =>
    fc.dictionary(fc.constantFrom(...names, 'unheardOf'), value, { maxKeys: 4 })
  const link = fc.record({ data: fc.oneof(fc.constant({ type: 'ai-models', id: '1' }), fc.constant([]), junk) })
  const resource = fc.record(
    {
      type: fc.oneof({ weight: 5, arbitrary: fc.constant(type) }, { weight: 1, arbitrary: fc.string() }),
      id: fc.constantFrom('1', '2', 'x'),
      attributes: someOf(Object.keys(attributes.properties ?? {}), junk),
      relationships: someOf(Object.keys(relationships.properties ?? {}), link),
    },
    { requiredKeys: ['type'] },
  )
  const body = fc.oneof({ weight: 4, arbitrary: fc.record({ data: fc.oneof(resource, fc.array(resource)) }) }, junk)
  return fc.record({
    who: fc.nat({ max: 1 }),
    id: path.includes('{id}')
      ? fc.option(fc.constantFrom('0', '999999', 'x', 'ü/%'), { nil: undefined, freq: 3 })
      : fc.constant(undefined),
    query: fc.oneof(
      fc.constant(''),
      fc.array(parameter, { maxLength: 2 }).map((all) => `?${all.join('&')}`),
    ),
    body: method === 'GET' ? fc.constant(undefined) : body,
  })
}

type Described = Record<string, { properties?: object }>
