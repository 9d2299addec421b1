import type { Route } from '../../../../facades/json-api/routes.ts'
import { resources } from '../../../../routers/index.ts'
import type { Resource } from '../../../../routers/resource/declare.ts'
import type { RecordRef } from '../../../../routers/resource/record.ts'
import type { JsonApiApp } from '../client.ts'
import type { Input, Outcome, ShownResource } from './outcome.ts'

const resourceOf = new Map(resources.map((resource) => [resource.type, resource]))

interface ProcedureResponse {
  result?: { data: unknown }
  error?: { data: { problem?: string; issues?: { path: (string | number)[] }[]; httpStatus: number } }
}

/** Calls the procedure of a route. */
export async function callProcedure(
  svc: JsonApiApp,
  token: string | undefined,
  route: Route,
  input: Input,
): Promise<Outcome> {
  const { name, procedure } = route
  const isQuery = procedure?._def.type === 'query'
  const procedureInput = {
    ...input,
    ...(route.method === 'GET' && route.relation && { relation: route.relation.name }),
  }
  const path = `/trpc/${name}${isQuery ? `?input=${encodeURIComponent(JSON.stringify(procedureInput))}` : ''}`
  const response = await svc.send(isQuery ? 'GET' : 'POST', path, { token, ...(!isQuery && { body: procedureInput }) })
  const { result, error } = (await response.json()) as ProcedureResponse
  if (error) return { refused: toProcedureRefusal(error.data) }
  return recordsToOutcome(route, result?.data)
}

/** An input that fails its schema has no name of a problem, and a wrong id is one of these. */
function toProcedureRefusal({ problem, issues = [] }: NonNullable<ProcedureResponse['error']>['data']): string {
  if (issues.some(({ path }) => path[0] === 'id')) return 'not_found'
  return problem === undefined || problem === 'invalid_query' ? 'invalid' : problem
}

function recordsToOutcome({ answers, resource, relation }: Route, output: unknown): Outcome {
  if (answers === 'nothing') return { objects: [], around: [] }
  if (answers === 'action') {
    const { data, meta } = output as { data?: RecordRef | RecordRef[] | null; meta?: unknown }
    return { ...showRecords(resource, [data ?? []].flat()), meta }
  }
  const target = (relation ? resourceOf.get(relation.of.to) : resource) as Resource
  const isPage = typeof output === 'object' && output !== null && 'items' in output
  const records = isPage ? (output.items as RecordRef[]) : ([output ?? []].flat() as RecordRef[])
  const total = isPage && target.page ? (output as unknown as { total: number }).total : undefined
  if (answers === 'linkage') return { objects: records.map(({ id }) => `${target.type}/${id}`), around: [], total }
  return { ...showRecords(target, records), total }
}

/** Records as they would be shown: those that were asked for in their order, those around them once and by name. */
function showRecords(of: Resource, records: readonly RecordRef[]) {
  const around = new Map<string, ShownResource>()
  const show = (resource: Resource, record: RecordRef): ShownResource => {
    const entries = Object.entries(record).filter(([name]) => name in resource.attributes)
    const links = Object.entries(record.relations ?? {}).map(([name, value]) => {
      const { to } = resource.relations[name]!
      const linkedRecords = [value ?? []].flat()
      for (const one of linkedRecords) if (one.relations) add(resourceOf.get(to)!, one)
      return [name, linkedRecords.map(({ id }) => `${to}/${id}`)]
    })
    return {
      name: `${resource.type}/${record.id}`,
      attributes: Object.fromEntries(entries),
      links: Object.fromEntries(links),
    }
  }
  const add = (resource: Resource, record: RecordRef) => {
    const shown = show(resource, record)
    const known = around.get(shown.name)
    around.set(shown.name, known ? { ...known, links: { ...known.links, ...shown.links } } : shown)
  }
  const objects = records
    .map((record) => show(of, record))
    .map((shown) => {
      const again = around.get(shown.name)
      around.delete(shown.name)
      return again ? { ...shown, links: { ...shown.links, ...again.links } } : shown
    })
  return { objects, around: [...around.values()].toSorted((a, b) => a.name.localeCompare(b.name)) }
}
