import { STATUS_CODES } from 'node:http'
import type { AnyTRPCRouter } from '@trpc/server'
import { type Access, metaOf } from '../../../routers/core/trpc.ts'
import type { Relation, Resource } from '../../../routers/resource/declare.ts'
import { summarize, toSingular } from '../../../routers/resource/exposure.ts'
import type { WireNames } from '../../http/names.ts'
import { type JsonObject, type ObjectSchema, text } from '../../http/openapi.ts'
import { describeAccess } from '../../http/procedures.ts'
import { declaredMembers, type Members } from '../members.ts'
import { listAcceptedParameters } from '../query.ts'
import { getAccess, isRepeatable, listServedRoutes, mediaType, type ServedRoute } from '../routes.ts'
import { BodySchemas, describeInput, describeQuery, needsVersion } from './bodies.ts'
import { Components } from './components.ts'
import { AnswerSchemas, listReachableTypes } from './schemas.ts'

interface JsonApiDescription {
  components: Components
  tags: JsonObject[]
  paths: Record<string, JsonObject>
}

/** Describes the whole JSON:API as parts of an OpenAPI document. */
export function describeJsonApi(
  router: AnyTRPCRouter,
  resources: readonly Resource[],
  names: WireNames,
  members: Members = declaredMembers,
): JsonApiDescription {
  const components = new Components(members, names)
  const byType = new Map(resources.map((resource) => [resource.type as string, resource]))
  const answers = new AnswerSchemas(components, byType)
  const context: DescriptionContext = {
    components,
    resources: byType,
    answers,
    bodies: new BodySchemas(components, answers),
  }
  const paths: Record<string, JsonObject> = {}
  for (const route of listServedRoutes(router, members)) {
    const path = names.basePath + route.url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeOperation(context, route) }
  }
  return { components, tags: resources.map(({ type, about }) => ({ name: type, description: about })), paths }
}

export const securitySchemes = ({ sessionCookie }: WireNames) => ({
  bearer: { type: 'http', scheme: 'bearer', description: 'A personal access token.' },
  session: { type: 'apiKey', in: 'cookie', name: sessionCookie, description: 'The session of the browser front end.' },
})

/** Writes a summary that is unique to the route. */
function writeSummary({ procedure, resource, relation, answers, method }: ServedRoute): string {
  const { about, exposes } = metaOf(procedure)
  if (!relation || method !== 'GET') return (about ?? (exposes ? summarize(exposes) : '')).replace(/\.$/, '')
  const linkage = answers === 'linkage' ? 'links to the ' : ''
  return `Read the ${linkage}${relation.name} of ${toSingular(resource.type)}`
}

type Resources = ReadonlyMap<string, Resource>

/** Describes the parameters of a route: address, query and headers. */
function describeParameters(components: Components, route: ServedRoute, target: Resource, resources: Resources) {
  const { properties = {} } = describeInput(components, route)
  return [
    ...listPathParameters(route).map((name) => ({ name, in: 'path', required: true, schema: properties[name] ?? {} })),
    ...describeQueryParameters(components, route, target, resources),
    ...describeHeaders(components, route),
  ]
}

const listPathParameters = ({ url }: ServedRoute) => [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => name)

function describeQueryParameters(components: Components, route: ServedRoute, target: Resource, resources: Resources) {
  const { properties = {} } = describeQuery(components, route, target)
  const accepted = listAcceptedParameters(route)
  const lists = ['include', 'sort'].filter((name) => accepted.includes(name) && hasChoices(properties[name]))
  const groups = ['filter', 'page'].filter((name) => accepted.includes(name))
  const fields = accepted.includes('fields')
    ? [target, ...(lists.includes('include') ? listReachableTypes(target, resources) : [])]
    : []
  return [
    ...lists.map((name) => describeList(name, describeNameList(components, properties[name] ?? {}))),
    ...groups.flatMap((name) => describeGroup(components, name, properties[name], target)),
    ...new Set(fields).values().map((type) => describeFields(components, type)),
  ]
}

/** Describes a list of names by their wire names. */
function describeNameList({ members }: Components, { items, ...list }: JsonObject): JsonObject {
  const { enum: names = [], ...item } = items as { enum?: string[] }
  return { ...list, items: { ...item, enum: names.map((name) => members.write(name)) } }
}

/** Returns true if a list has choices; without them it is no parameter. */
const hasChoices = (list?: JsonObject) => ((list?.['items'] as { enum?: unknown[] } | undefined)?.enum ?? []).length > 0

const describeList = (name: string, { default: _, ...schema }: JsonObject) => ({
  name,
  in: 'query',
  style: 'form',
  explode: false,
  schema,
})

function describeGroup({ members }: Components, group: string, schema: ObjectSchema | undefined, target: Resource) {
  const defaults: JsonObject = group === 'page' ? { number: 1, size: target.page?.size } : {}
  return Object.entries(schema?.properties ?? {}).map(([member, { description, ...own }]) => ({
    name: `${group}[${group === 'filter' ? members.write(member) : member}]`,
    in: 'query',
    ...(description !== undefined && { description }),
    schema: { ...own, ...(member in defaults && { default: defaults[member] }) },
  }))
}

const describeFields = (components: Components, { type, attributes, relations }: Resource) =>
  components.use('parameters', `fields.${type}`, () => ({
    description: `The only members of \`${type}\` to send.`,
    ...describeList(`fields[${type}]`, {
      type: 'array',
      items: {
        type: 'string',
        enum: [...Object.keys(attributes), ...Object.keys(relations)].map((name) =>
          components.members.write(name, type),
        ),
      },
    }),
  }))

const headers = {
  'If-None-Match': 'A known `ETag`. The response is 304 if it is still current.',
  'If-Match':
    'The `ETag` of the version that was read. The response is 412 if it has changed since, and 428 if the header is required and missing.',
  'Idempotency-Key':
    'A key of your choice. A repeated request with the same key within a day gets the first response; if that is large, only its status and `Location`.',
} as const

function describeHeaders(components: Components, route: ServedRoute) {
  const takes = {
    'If-None-Match': route.method === 'GET',
    'If-Match': needsVersion(components, route),
    'Idempotency-Key': isRepeatable(route),
  }
  return Object.entries(headers).flatMap(([name, description]) =>
    takes[name as keyof typeof headers]
      ? [components.use('parameters', name, () => ({ name, in: 'header', description, schema: text }))]
      : [],
  )
}

interface DescriptionContext {
  components: Components
  resources: ReadonlyMap<string, Resource>
  answers: AnswerSchemas
  bodies: BodySchemas
}

const describeHeader = (description: string) => ({ description, schema: text })

/** Describes a route as an operation. */
function describeOperation(context: DescriptionContext, route: ServedRoute): JsonObject {
  const { components, resources, bodies } = context
  const { resource, relation } = route
  const access = getAccess(route)
  const target = (relation && resources.get(relation.of.to)) ?? resource
  const body = bodies.describe(route)
  return {
    operationId: buildOperationId(route),
    summary: writeSummary(route),
    description: describeAccess(route.procedure),
    tags: [resource.type],
    security: describeSecurity(access),
    parameters: describeParameters(components, route, target, resources),
    ...(body && {
      requestBody: {
        required: Object.values(body).at(-1)?.required !== undefined,
        content: Object.fromEntries(Object.entries(body).map(([type, schema]) => [type, { schema }])),
      },
    }),
    responses: { ...describeSuccess(context, route, target), ...describeRefusals(context, route, body !== undefined) },
  }
}

/**
 * Describes the security schemes. The needed ability stands in the description, because linters know scopes only for
 * OAuth.
 */
export const describeSecurity = ({ callers, sessionOnly }: Access): JsonObject[] => [
  ...(sessionOnly ? [] : [{ bearer: [] }]),
  { session: [] },
  ...(callers === 'anyone' ? [{}] : []),
]

/** Builds the operation id from the procedure and, if it reads all relations, the relation. */
function buildOperationId({ name, answers, relation, method }: ServedRoute): string {
  const [topic] = name.split('.')
  return relation && method === 'GET' ? `${topic}.${answers}.${relation.name}` : name
}

function describeSuccess({ answers: schemas }: DescriptionContext, route: ServedRoute, target: Resource): JsonObject {
  const { answers, creates, method } = route
  if (answers === 'file') return fileAnswer
  const isRead = method === 'GET'
  const schema = answers === 'nothing' ? undefined : chooseSchema(schemas, route, target)
  const status = creates ? 201 : 200
  const headers = {
    ...(answers !== 'nothing' && { ETag: describeHeader('The version of this response.') }),
    ...(creates && { Location: describeHeader('The address of the new resource.') }),
  }
  const content = { [mediaType]: { schema: isRead ? schema : schemas.describeChange(schema) } }
  return {
    [status]: { description: STATUS_CODES[status], headers, content },
    ...(isRead && { 304: { description: STATUS_CODES[304] } }),
  }
}

const bytes = { '*/*': { schema: { type: 'string', format: 'binary' } } }
const tagged = { ETag: describeHeader('The version of these bytes.') }
const part = { 'Content-Range': describeHeader('The range of the part, and the total number of bytes.') }

const fileAnswer: JsonObject = {
  200: { description: STATUS_CODES[200], headers: tagged, content: bytes },
  206: { description: STATUS_CODES[206], headers: { ...tagged, ...part }, content: bytes },
  304: { description: STATUS_CODES[304] },
}

function chooseSchema(
  schemas: AnswerSchemas,
  { answers, method, relation }: ServedRoute,
  target: Resource,
): JsonObject {
  const isMany = answers === 'page' || relation?.of.many
  if (answers === 'action') return schemas.action(target)
  if (answers === 'linkage') return schemas.linkage(relation?.of as Relation, method === 'GET')
  if (isMany) return schemas.collection(target)
  return answers === 'related' ? schemas.oneOrNone(target) : schemas.one(target)
}

/** Describes the error responses of a route. */
function describeRefusals(context: DescriptionContext, route: ServedRoute, hasBody: boolean): JsonObject {
  const { method, url, answers } = route
  const statuses = [
    400,
    401,
    403,
    500,
    503,
    ...(answers === 'file' ? [404, 412, 416] : [406]),
    ...(url.includes('/:id') || hasBody || answers === 'action' ? [404] : []),
    // A body is validated, even if none is needed.
    ...(method === 'GET' ? [] : [409, 413, 415, 422]),
    ...(answers === 'action' && listAcceptedParameters(route).includes('page') ? [410] : []),
    ...(needsVersion(context.components, route) ? [412] : []),
    ...(metaOf(route.procedure).needsVersion ? [428] : []),
    ...(isRepeatable(route) ? [429] : []),
  ]
  return Object.fromEntries(
    [...new Set(statuses)].toSorted().map((status) => [status, describeRefusal(context, status)]),
  )
}

const refusalHeaders: Record<number, string> = { 401: 'WWW-Authenticate', 429: 'Retry-After', 503: 'Retry-After' }

function describeRefusal({ components, answers }: DescriptionContext, status: number): JsonObject {
  const name = refusalHeaders[status]
  return components.use('responses', String(status), () => ({
    description: STATUS_CODES[status],
    ...(name && { headers: { [name]: { schema: text } } }),
    content: { [mediaType]: { schema: answers.errors() } },
  }))
}
