import type { AnyTRPCProcedure } from '@trpc/server'
import { type Issue, Problem } from '../../routers/core/problems.ts'
import type { Resource } from '../../routers/resource/declare.ts'
import { inputsOf } from '../http/procedures.ts'
import type { DocumentContext } from './members.ts'
import type { ResponseKind, Route } from './routes.ts'

/** The query string as the input of a procedure, which validates it. */
interface QueryInput {
  include?: string[]
  sort?: string[]
  page?: Record<string, string>
  filter?: Record<string, string>
}

export interface ParsedQuery {
  input: QueryInput
  /** The selected members of each type, for the document only. */
  fields: Map<string, Set<string>>
}

const parameterFamily = /^(page|filter|fields)\[([^[\]]+)\]$/
/** Parameters that server/http reads to choose the language. */
const foreignParameters = new Set(['locale', 'lang'])

/** Drops the parameters that do not concern the address itself. */
export const dropForeignParameters = (query: object) =>
  Object.fromEntries(Object.entries(query).filter(([name]) => !foreignParameters.has(name)))

/** Query parameters by the kind of response. */
const acceptedParameters: Record<ResponseKind, readonly string[]> = {
  page: ['include', 'sort', 'page', 'filter', 'fields'],
  one: ['include', 'fields'],
  related: ['include', 'sort', 'page', 'filter', 'fields'],
  linkage: ['sort', 'page', 'filter', 'fields'],
  created: ['fields'],
  nothing: [],
  action: ['fields'],
  file: [],
}

/** Lists the query parameters of a route. A write accepts only `fields`. */
export function listAcceptedParameters({ method, answers, procedure }: Route): readonly string[] {
  if (method !== 'GET') return acceptedParameters[answers].filter((name) => name === 'fields' && answers !== 'linkage')
  return answers === 'action' && procedure && takesPage(procedure)
    ? [...acceptedParameters.action, 'page']
    : acceptedParameters[answers]
}

const takesPage = (procedure: AnyTRPCProcedure) => inputsOf(procedure).some(({ shape }) => 'page' in shape)

export function parseQuery(search: string, route: Route, documentContext: DocumentContext): Readonly<ParsedQuery> {
  if (search === '') return { input: {}, fields: new Map() }
  const query: ParsedQuery = { input: {}, fields: new Map() }
  const issues: Issue[] = []
  const seen = new Set<string>()
  const accepted = listAcceptedParameters(route)
  for (const [name, value] of new URLSearchParams(search)) {
    if (foreignParameters.has(name)) continue
    const problem = seen.has(name) ? 'is there more than once' : readParameter(query, name, value, accepted)
    seen.add(name)
    if (problem) issues.push({ path: [name], message: problem })
  }
  issues.push(
    ...translateNames(query, route, documentContext),
    ...findUnknownFields(query.fields, documentContext.resources),
  )
  if (issues.length > 0) throw new Problem('invalid_query', { issues })
  return query
}

/** Stores a parameter; returns the error of an invalid name. */
function readParameter(
  { input, fields }: ParsedQuery,
  name: string,
  value: string,
  accepted: readonly string[],
): string | undefined {
  const [, group, member] = parameterFamily.exec(name) ?? []
  if (!accepted.includes(group ?? name)) return 'is not a parameter of this address'
  if (name === 'include' || name === 'sort') input[name] = splitList(value)
  else if (group === 'page' || group === 'filter') input[group] = { ...input[group], [member as string]: value }
  else if (group === 'fields') fields.set(member as string, new Set(splitList(value)))
  else return 'needs a member in brackets'
  return undefined
}

/** Translates wire names to declared names. */
function translateNames(
  { input, fields }: ParsedQuery,
  { resource, relation }: Route,
  { resources, members }: DocumentContext,
): Issue[] {
  const issues: Issue[] = []
  const read = (declared: readonly string[], parameter: string, type?: string) => (written: string) => {
    const name = members.read(written, declared, type)
    if (name === undefined) issues.push({ path: [parameter], message: `${written} is not known here` })
    return name ?? written
  }
  const { type, includes, sorts, filters } = (relation && resources.get(relation.of.to)) ?? resource
  const { include, sort, filter } = input
  if (include) input.include = include.map(read(includes, 'include'))
  if (sort)
    input.sort = sort.map(
      read(
        sorts.flatMap((name) => [name, `-${name}`]),
        'sort',
        type,
      ),
    )
  if (filter)
    input.filter = Object.fromEntries(
      Object.entries(filter).map(([written, value]) => {
        const name = read(Object.keys(filters), `filter[${written}]`)(written)
        return [name, members.readFilter(type, name, value)]
      }),
    )
  for (const [type, names] of fields) {
    const of = resources.get(type)
    const known = of ? [...Object.keys(of.attributes), ...Object.keys(of.relations)] : []
    fields.set(type, new Set([...names].map(read(known, `fields[${type}]`, type))))
  }
  return issues
}

const splitList = (value: string) => value.split(',').filter(Boolean)

function findUnknownFields(fields: ParsedQuery['fields'], resources: ReadonlyMap<string, Resource>): Issue[] {
  return [...fields].flatMap(([type, names]) => {
    const path = [`fields[${type}]`]
    const resource = resources.get(type)
    if (!resource) return [{ path, message: `there is no type ${type}` }]
    const unknown = [...names].filter(
      (name) => !Object.hasOwn(resource.attributes, name) && !Object.hasOwn(resource.relations, name),
    )
    return unknown.map((name) => ({ path, message: `${name} is not a field of ${type}` }))
  })
}
