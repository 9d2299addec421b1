import type { Resource } from '../../../routers/resource/declare.ts'
import { type Described, type ObjectSchema, text } from '../../http/openapi/schema.ts'
import type { ServedRoute } from '../exposed-routes.ts'
import { acceptedBy } from '../query.ts'
import { isRepeatable } from '../routes.ts'
import type { Components } from './components.ts'
import { inputOf, insistsOn, queryOf } from './inputs.ts'
import { reachedFrom } from './schemas.ts'

type Resources = ReadonlyMap<string, Resource>

/** The parameters of a route: of its address, its query and its headers. */
export function parametersOf(components: Components, route: ServedRoute, target: Resource, resources: Resources) {
  const { properties = {} } = inputOf(components, route)
  return [
    ...pathParameters(route).map((name) => ({ name, in: 'path', required: true, schema: properties[name] ?? {} })),
    ...queryParameters(components, route, target, resources),
    ...headersOf(components, route),
  ]
}

const pathParameters = ({ url }: ServedRoute) => [...url.matchAll(/:(\w+)/g)].map(([, name = '']) => name)

function queryParameters(components: Components, route: ServedRoute, target: Resource, resources: Resources) {
  const { properties = {} } = queryOf(components, route, target)
  const accepted = acceptedBy(route)
  const lists = ['include', 'sort'].filter((name) => accepted.includes(name) && offers(properties[name]))
  const groups = ['filter', 'page'].filter((name) => accepted.includes(name))
  const fields = accepted.includes('fields')
    ? [target, ...(lists.includes('include') ? reachedFrom(target, resources) : [])]
    : []
  return [
    ...lists.map((name) => listParameter(name, writtenList(components, properties[name] ?? {}))),
    ...groups.flatMap((name) => groupParameters(components, name, properties[name], target)),
    ...new Set(fields).values().map((type) => fieldsParameter(components, type)),
  ]
}

/** A list of names, which are written as members are. */
function writtenList({ members }: Components, { items, ...list }: Described): Described {
  const { enum: names = [], ...item } = items as { enum?: string[] }
  return { ...list, items: { ...item, enum: names.map((name) => members.write(name)) } }
}

/** A list with nothing to choose from is no parameter. */
const offers = (list?: Described) => ((list?.['items'] as { enum?: unknown[] } | undefined)?.enum ?? []).length > 0

const listParameter = (name: string, { default: _, ...schema }: Described) => ({
  name,
  in: 'query',
  style: 'form',
  explode: false,
  schema,
})

function groupParameters({ members }: Components, group: string, schema: ObjectSchema | undefined, target: Resource) {
  const defaults: Described = group === 'page' ? { number: 1, size: target.page?.size } : {}
  return Object.entries(schema?.properties ?? {}).map(([member, { description, ...own }]) => ({
    name: `${group}[${group === 'filter' ? members.write(member) : member}]`,
    in: 'query',
    ...(description !== undefined && { description }),
    schema: { ...own, ...(member in defaults && { default: defaults[member] }) },
  }))
}

const fieldsParameter = (components: Components, { type, attributes, relations }: Resource) =>
  components.use('parameters', `fields.${type}`, () => ({
    description: `The only members of \`${type}\` to send.`,
    ...listParameter(`fields[${type}]`, {
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
  'If-None-Match': 'An `ETag` that is known already: 304 where it is still current.',
  'If-Match':
    'The `ETag` of what was read: 412 where somebody else changed it in the meantime, 428 where it is needed and missing.',
  'Idempotency-Key':
    'A word of your own: who sends the same request again with it within a day gets the first answer; of a large one only status and `Location`.',
} as const

function headersOf(components: Components, route: ServedRoute) {
  const takes = {
    'If-None-Match': route.method === 'GET',
    'If-Match': insistsOn(components, route),
    'Idempotency-Key': isRepeatable(route),
  }
  return Object.entries(headers).flatMap(([name, description]) =>
    takes[name as keyof typeof headers]
      ? [components.use('parameters', name, () => ({ name, in: 'header', description, schema: text }))]
      : [],
  )
}
