import { STATUS_CODES } from 'node:http'
import { type Access, metaOf } from '../../../routers/core/trpc.ts'
import type { Relation, Resource } from '../../../routers/resource/declare.ts'
import { type Described, text } from '../../http/openapi/schema.ts'
import { accessSentence } from '../../http/procedures.ts'
import { routeAccess, type ServedRoute } from '../exposed-routes.ts'
import { acceptedBy } from '../query.ts'
import { isRepeatable } from '../routes.ts'
import { mediaType } from '../wire.ts'
import type { BodySchemas } from './bodies.ts'
import type { Components } from './components.ts'
import { insistsOn } from './inputs.ts'
import { parametersOf } from './parameters.ts'
import type { AnswerSchemas } from './schemas.ts'
import { summaryOf } from './summaries.ts'

export interface Writing {
  components: Components
  resources: ReadonlyMap<string, Resource>
  answers: AnswerSchemas
  bodies: BodySchemas
}

const header = (description: string) => ({ description, schema: text })

/** A route as the document describes it. */
export function operationOf(writing: Writing, route: ServedRoute): Described {
  const { components, resources, bodies } = writing
  const { resource, relation } = route
  const access = routeAccess(route)
  const target = (relation && resources.get(relation.of.to)) ?? resource
  const body = bodies.of(route)
  return {
    operationId: idOf(route),
    summary: summaryOf(route),
    description: accessSentence(access),
    tags: [resource.type],
    security: securityOf(access),
    parameters: parametersOf(components, route, target, resources),
    ...(body && {
      requestBody: {
        required: Object.values(body).at(-1)?.required !== undefined,
        content: Object.fromEntries(Object.entries(body).map(([type, schema]) => [type, { schema }])),
      },
    }),
    responses: { ...success(writing, route, target), ...refusals(writing, route, body !== undefined) },
  }
}

/** The ability that a token needs stands in the description: only OAuth has scopes that linters know. */
export const securityOf = ({ callers, sessionOnly }: Access): Described[] => [
  ...(sessionOnly ? [] : [{ bearer: [] }]),
  { session: [] },
  ...(callers === 'anyone' ? [{}] : []),
]

/** The procedure's name, with the relation where one procedure reads all of them. */
function idOf({ name, answers, relation, method }: ServedRoute): string {
  const [topic] = name.split('.')
  return relation && method === 'GET' ? `${topic}.${answers}.${relation.name}` : name
}

function success({ answers: schemas }: Writing, route: ServedRoute, target: Resource): Described {
  const { answers, creates, method } = route
  if (answers === 'file') return fileAnswer
  const read = method === 'GET'
  const schema = answers === 'nothing' ? undefined : schemaOf(schemas, route, target)
  const status = creates ? 201 : 200
  const headers = {
    ...(answers !== 'nothing' && { ETag: header('Stands for exactly this answer.') }),
    ...(creates && { Location: header('Where the new resource is.') }),
  }
  const content = { [mediaType]: { schema: read ? schema : schemas.changed(schema) } }
  return {
    [status]: { description: STATUS_CODES[status], headers, content },
    ...(read && { 304: { description: STATUS_CODES[304] } }),
  }
}

const bytes = { '*/*': { schema: { type: 'string', format: 'binary' } } }
const tagged = { ETag: header('Stands for exactly these bytes.') }
const part = { 'Content-Range': header('Which part of how many bytes.') }

const fileAnswer: Described = {
  200: { description: STATUS_CODES[200], headers: tagged, content: bytes },
  206: { description: STATUS_CODES[206], headers: { ...tagged, ...part }, content: bytes },
  304: { description: STATUS_CODES[304] },
}

function schemaOf(schemas: AnswerSchemas, { answers, method, relation }: ServedRoute, target: Resource): Described {
  const isMany = answers === 'page' || relation?.of.many
  if (answers === 'action') return schemas.action(target)
  if (answers === 'linkage') return schemas.linkage(relation?.of as Relation, method === 'GET')
  if (isMany) return schemas.collection(target)
  return answers === 'related' ? schemas.oneOrNone(target) : schemas.one(target)
}

/** The statuses of refusals that a route can give. */
function refusals(writing: Writing, route: ServedRoute, hasBody: boolean): Described {
  const { method, url, answers } = route
  const statuses = [
    ...[400, 401, 403, 500, 503],
    ...(answers === 'file' ? [404, 412, 416] : [406]),
    ...(url.includes('/:id') || hasBody || answers === 'action' ? [404] : []),
    // A body is judged, even where nobody asks for one.
    ...(method === 'GET' ? [] : [409, 413, 415, 422]),
    ...(answers === 'action' && acceptedBy(route).includes('page') ? [410] : []),
    ...(insistsOn(writing.components, route) ? [412] : []),
    ...(metaOf(route.procedure).needsVersion ? [428] : []),
    ...(isRepeatable(route) ? [429] : []),
  ]
  return Object.fromEntries([...new Set(statuses)].toSorted().map((status) => [status, refusal(writing, status)]))
}

const refusalHeaders: Record<number, string> = { 401: 'WWW-Authenticate', 429: 'Retry-After', 503: 'Retry-After' }

function refusal({ components, answers }: Writing, status: number): Described {
  const name = refusalHeaders[status]
  return components.use('responses', String(status), () => ({
    description: STATUS_CODES[status],
    ...(name && { headers: { [name]: { schema: text } } }),
    content: { [mediaType]: { schema: answers.errors() } },
  }))
}
