import type { Route } from '../../../../facades/json-api/routes.ts'
import type { Client } from '../client.ts'
import type { Input, Outcome, ShownResource } from './outcome.ts'

/** Asks a route for a document. */
export async function callDocument(client: Client, route: Route, input: Input): Promise<Outcome> {
  const { method, url, relation, answers } = route
  const search = method === 'GET' ? buildSearch(input) : ''
  const path = `${url.replace(':id', input.id ?? '')}${search && `?${search}`}`
  const hasBody = method === 'DELETE' ? relation !== undefined : method !== 'GET'
  const { status, errors, text } = await client.send(method, path, hasBody ? buildBody(route, input) : undefined)
  if (isReadOnlyMember(errors[0])) return { refused: 'invalid' }
  if (status >= 400) return { refused: toDocumentRefusal(errors[0]?.code ?? '') }
  return documentToOutcome(answers, JSON.parse(text))
}

/** A document may name a read-only member, and is told so; to a procedure it is a member that its input does not have. */
const isReadOnlyMember = (error?: { code: string; source?: { pointer?: string } }) =>
  error?.code === 'read_only' && error.source?.pointer !== undefined

interface Document {
  data?: ResourceObject | ResourceObject[] | null
  included?: ResourceObject[]
  meta?: { page?: { total: number }; _svc_sync_log?: unknown[] }
}

function documentToOutcome(answers: Route['answers'], { data, included = [], meta }: Document): Outcome {
  if (answers === 'nothing') return { objects: [], around: [] }
  const primaryData = [data ?? []].flat()
  const total = meta?.page?.total
  if (answers === 'linkage') return { objects: primaryData.map(({ type, id }) => `${type}/${id}`), around: [], total }
  const around = included.map(objectToShown).toSorted((a, b) => a.name.localeCompare(b.name))
  // Documents alone say where a change stands in the log.
  const { _svc_sync_log: _, ...ownMeta } = meta ?? {}
  return {
    objects: primaryData.map(objectToShown),
    around,
    ...(answers === 'action' ? { meta: meta && ownMeta } : { total }),
  }
}

const toDocumentRefusal = (code: string) => (/^(unsupported|invalid)_(?!token)/.test(code) ? 'invalid' : code)

interface ResourceObject {
  type: string
  id: string
  attributes: Record<string, unknown>
  relationships?: Record<string, { data?: { type: string; id: string } | { type: string; id: string }[] | null }>
}

function objectToShown({ type, id, attributes, relationships = {} }: ResourceObject): ShownResource {
  const links = Object.entries(relationships).flatMap(([name, { data }]) =>
    data === undefined ? [] : [[name, [data ?? []].flat().map(({ type, id }) => `${type}/${id}`)]],
  )
  return { name: `${type}/${id}`, attributes, links: Object.fromEntries(links) }
}

function buildSearch({ include, sort, page = {}, filter = {} }: Input): string {
  const search = new URLSearchParams()
  if (include) search.set('include', include.join())
  if (sort) search.set('sort', sort.join())
  for (const [name, value] of Object.entries(page)) search.set(`page[${name}]`, String(value))
  for (const [name, value] of Object.entries(filter)) search.set(`filter[${name}]`, value)
  return search.toString()
}

function buildBody({ answers, resource, relation }: Route, { id, ids = [], ...members }: Input): object {
  if (answers === 'action') return members
  if (answers === 'linkage') return { data: ids.map((id) => ({ type: relation?.of.to, id })) }
  const { relations, type } = resource
  const entries = Object.entries(members)
  const relationEntries = entries
    .filter(([name]) => name in relations)
    .map(([name, value]) => {
      const toIdentifier = (id: unknown) => ({ type: relations[name]!.to, id })
      return [name, { data: Array.isArray(value) ? value.map(toIdentifier) : toIdentifier(value) }]
    })
  const attributes = Object.fromEntries(entries.filter(([name]) => !(name in relations)))
  return { data: { type, ...(id && { id }), attributes, relationships: Object.fromEntries(relationEntries) } }
}
