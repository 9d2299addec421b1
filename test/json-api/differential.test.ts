import { describe, expect, test } from 'vitest'
import { type Route, routesOf } from '../../facades/json-api/routes.ts'
import { appRouter, resources } from '../../routers/index.ts'
import type { Resource } from '../../routers/resource/declare.ts'
import type { RecordRef } from '../../routers/resource/record.ts'
import { catalogue } from '../kit/catalogue.ts'
import { addCatalogue, type Client, clientOf, type JsonApiApp, startJsonApi } from '../kit/json-api/client.ts'
import { sampleOf } from '../kit/rounds.ts'

/** Files come and go by JSON:API alone. */
const routes = routesOf(appRouter).filter(
  ({ procedure, answers, takesFile }) => procedure && answers !== 'file' && !takesFile,
)
const resourceOf = new Map(resources.map((resource) => [resource.type, resource]))

interface Input {
  id?: string
  relation?: string
  include?: string[]
  sort?: string[]
  page?: Record<string, number>
  filter?: Record<string, string>
  ids?: string[]
  [member: string]: unknown
}

/** What a call came to, in terms of neither surface. */
type Outcome =
  | { refused: string }
  | { objects: unknown[]; around: unknown[]; total?: number | undefined; meta?: unknown }

// ---------------------------------------------------------------- through the procedures

interface Called {
  result?: { data: unknown }
  error?: { data: { problem?: string; issues?: { path: (string | number)[] }[]; httpStatus: number } }
}

async function byProcedure(svc: JsonApiApp, token: string | undefined, route: Route, input: Input): Promise<Outcome> {
  const { name, procedure } = route
  const isQuery = procedure?._def.type === 'query'
  const given = { ...input, ...(route.method === 'GET' && route.relation && { relation: route.relation.name }) }
  const path = `/trpc/${name}${isQuery ? `?input=${encodeURIComponent(JSON.stringify(given))}` : ''}`
  const response = await svc.send(isQuery ? 'GET' : 'POST', path, { token, ...(!isQuery && { body: given }) })
  const { result, error } = (await response.json()) as Called
  if (error) return { refused: refusalByProcedure(error.data) }
  return recordsToOutcome(route, result?.data)
}

/** An input that fails its schema has no name of a problem, and a wrong id is one of these. */
function refusalByProcedure({ problem, issues = [] }: NonNullable<Called['error']>['data']): string {
  if (issues.some(({ path }) => path[0] === 'id')) return 'not_found'
  return problem === undefined || problem === 'invalid_query' ? 'invalid' : problem
}

function recordsToOutcome({ answers, resource, relation }: Route, output: unknown): Outcome {
  if (answers === 'nothing') return { objects: [], around: [] }
  if (answers === 'action') {
    const { data, meta } = output as { data?: RecordRef | RecordRef[] | null; meta?: unknown }
    return { ...shownOf(resource, [data ?? []].flat()), meta }
  }
  const target = (relation ? resourceOf.get(relation.of.to) : resource) as Resource
  const isPage = typeof output === 'object' && output !== null && 'items' in output
  const records = isPage ? (output.items as RecordRef[]) : ([output ?? []].flat() as RecordRef[])
  const total = isPage && target.page ? (output as unknown as { total: number }).total : undefined
  if (answers === 'linkage') return { objects: records.map(({ id }) => `${target.type}/${id}`), around: [], total }
  return { ...shownOf(target, records), total }
}

interface Shown {
  name: string
  attributes: Record<string, unknown>
  links: Record<string, string[]>
}

/** Records as they would be shown: those that were asked for in their order, those around them once and by name. */
function shownOf(of: Resource, records: readonly RecordRef[]) {
  const around = new Map<string, Shown>()
  const show = (resource: Resource, record: RecordRef): Shown => {
    const entries = Object.entries(record).filter(([name]) => name in resource.attributes)
    const links = Object.entries(record.relations ?? {}).map(([name, held]) => {
      const { to } = resource.relations[name]!
      const linked = [held ?? []].flat()
      for (const one of linked) if (one.relations) add(resourceOf.get(to)!, one)
      return [name, linked.map(({ id }) => `${to}/${id}`)]
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

// ---------------------------------------------------------------- through JSON:API

async function byDocument(client: Client, route: Route, input: Input): Promise<Outcome> {
  const { method, url, relation, answers } = route
  const search = method === 'GET' ? searchFor(input) : ''
  const path = `${url.replace(':id', input.id ?? '')}${search && `?${search}`}`
  const hasBody = method === 'DELETE' ? relation !== undefined : method !== 'GET'
  const { status, errors, text } = await client.send(method, path, hasBody ? bodyFor(route, input) : undefined)
  if (isReadOnlyMember(errors[0])) return { refused: 'invalid' }
  if (status >= 400) return { refused: refusalByDocument(errors[0]?.code ?? '') }
  return documentToOutcome(answers, JSON.parse(text))
}

/** A document may name a read-only member, and is told so; to a procedure it is a member that its input does not have. */
const isReadOnlyMember = (error?: { code: string; source?: { pointer?: string } }) =>
  error?.code === 'read_only' && error.source?.pointer !== undefined

interface Document {
  data?: ResourceObject | ResourceObject[] | null
  included?: ResourceObject[]
  meta?: { page?: { total: number } }
}

function documentToOutcome(answers: Route['answers'], { data, included = [], meta }: Document): Outcome {
  if (answers === 'nothing') return { objects: [], around: [] }
  const listed = [data ?? []].flat()
  const total = meta?.page?.total
  if (answers === 'linkage') return { objects: listed.map(({ type, id }) => `${type}/${id}`), around: [], total }
  const around = included.map(objectToShown).toSorted((a, b) => a.name.localeCompare(b.name))
  return { objects: listed.map(objectToShown), around, ...(answers === 'action' ? { meta } : { total }) }
}

const refusalByDocument = (code: string) => (/^(unsupported|invalid)_(?!token)/.test(code) ? 'invalid' : code)

interface ResourceObject {
  type: string
  id: string
  attributes: Record<string, unknown>
  relationships?: Record<string, { data?: { type: string; id: string } | { type: string; id: string }[] | null }>
}

function objectToShown({ type, id, attributes, relationships = {} }: ResourceObject): Shown {
  const links = Object.entries(relationships).flatMap(([name, { data }]) =>
    data === undefined ? [] : [[name, [data ?? []].flat().map(({ type, id }) => `${type}/${id}`)]],
  )
  return { name: `${type}/${id}`, attributes, links: Object.fromEntries(links) }
}

function searchFor({ include, sort, page = {}, filter = {} }: Input): string {
  const search = new URLSearchParams()
  if (include) search.set('include', include.join())
  if (sort) search.set('sort', sort.join())
  for (const [name, value] of Object.entries(page)) search.set(`page[${name}]`, String(value))
  for (const [name, value] of Object.entries(filter)) search.set(`filter[${name}]`, value)
  return search.toString()
}

function bodyFor({ answers, resource, relation }: Route, { id, ids = [], ...members }: Input): object {
  if (answers === 'action') return members
  if (answers === 'linkage') return { data: ids.map((id) => ({ type: relation?.of.to, id })) }
  const { relations, type } = resource
  const entries = Object.entries(members)
  const related = entries
    .filter(([name]) => name in relations)
    .map(([name, value]) => {
      const named = (id: unknown) => ({ type: relations[name]!.to, id })
      return [name, { data: Array.isArray(value) ? value.map(named) : named(value) }]
    })
  const attributes = Object.fromEntries(entries.filter(([name]) => !(name in relations)))
  return { data: { type, ...(id && { id }), attributes, relationships: Object.fromEntries(related) } }
}

// ---------------------------------------------------------------- what is asked

/** New rows of the types that can be made; a type that is missing here is only tried with what is refused. */
const examples: Partial<Record<string, Input>> = {
  'ai-providers': { providerId: 'new', name: 'New', adapter: 'demo', apiKey: 'KEY-OF-new' },
  'ai-models': { modelId: 'new', label: 'New', provider: '1', tools: ['1', '2'], usageTypes: ['main', 'external'] },
  'ai-model-descriptions': { locale: 'de_DE', description: 'Neu', model: '1' },
  'mcp-servers': { serverLabel: 'New', url: 'https://new.example.org', additionalConfig: { a: [1] } },
  'system-models': { modelType: 'summary', model: '1', usageType: 'external' },
  'room-members': { role: 'viewer', wrappedKey: 'a2V5', keyEpoch: 0, room: '1', user: '4' },
  rooms: { name: 'Chess', roomDescription: 'aXY=|dGFn|Y2lwaGVy' },
  'system-prompts': { promptType: 'other', locale: 'de_DE', prompt: 'Sei freundlich.' },
}

const ids = ['1', '2', '3', '4', '5', '6', '99999', '0', 'x', 'open-weights', 'locale', 'de_DE', 'svc']

/** What is asked of a route, of whatever type it is: all that somebody writes who can, else one in a few, or all in the soak. */
const inputsFor = (route: Route, caller = 'admin') =>
  route.method !== 'GET' && ['ada', 'admin'].includes(caller) ? allInputsFor(route) : sampleOf(allInputsFor(route), 12)

function allInputsFor(route: Route): Input[] {
  const { method, answers, resource, relation } = route
  const target = relation ? resourceOf.get(relation.of.to)! : resource
  const asked =
    method === 'GET' ? readings(answers, target, relation ? relation.of.many : answers === 'page') : writings(route)
  return route.url.includes('/:id')
    ? asked.flatMap((input, at) => idsFor(route, at).map((id) => ({ ...input, id })))
    : asked
}

const idsFor = ({ method }: Route, at: number) => (at === 0 && method !== 'DELETE' ? ids : ['1', '2', '99999'])

function readings(answers: Route['answers'], target: Resource, isList: boolean): Input[] {
  const includes =
    answers === 'linkage' || answers === 'action'
      ? []
      : [...target.includes.map((path) => [path]), [...target.includes], ['nonsense']]
  const lists: Input[] = [
    ...target.sorts.flatMap((name) => [{ sort: [name] }, { sort: [`-${name}`, 'id'] }]),
    { page: { size: 2 } },
    { page: { size: 2, number: 2 } },
    { page: { size: 0 } },
    { page: { number: 99 } },
    { sort: ['nonsense'] },
    ...['true', 'false', '1', '2', 'x'].map((assigned) => ({ filter: { assigned } })),
    ...['active', 'inactive', 'online', 'x'].map((status) => ({ filter: { status } })),
  ]
  return [{}, ...includes.map((include) => ({ include })), ...(isList ? lists : [])]
}

function writings({ answers, resource, method }: Route): Input[] {
  if (answers === 'action') return [{}, { nonsense: true }]
  if (answers === 'linkage') return [{ ids: ['2', '3'] }, { ids: [] }, { ids: ['1', '99999'] }, { ids: ['x'] }]
  if (method === 'DELETE') return [{}]
  const example = examples[resource.type] ?? {}
  const wrong = sampleOf(Object.keys(resource.attributes), 4).map((name) => ({
    ...example,
    [name]: [['no', { such: 'value' }]],
  }))
  const changed = Object.entries(example).map(([name, value]) => ({ [name]: value }))
  const whole = method === 'POST' ? [example, example] : changed
  return [{}, { nonsense: 1 }, ...wrong, { displayName: 'Changed', bio: 'Me' }, { role: 'admin' }, ...whole]
}

// ---------------------------------------------------------------- who asks, and what is compared

const callers = ['guest', 'ada', 'bob', 'adminReading', 'admin'] as const

const tokenOf = ({ people, reading }: JsonApiApp & { reading: string }, caller: (typeof callers)[number]) =>
  caller === 'guest' ? undefined : caller === 'adminReading' ? reading : people[caller].token

/** The service with a catalogue and a token of the administrator that can only read. */
async function start(settings: Record<string, string> = {}) {
  const svc = await startJsonApi(settings)
  if (svc.env.ALLOW_EXTERNAL_COMMUNICATION !== false) {
    await addCatalogue(svc)
    await svc.ada.create('rooms', { name: 'First' })
  }
  const { token: reading } = await svc.host.tokens.createFor({
    user: { id: svc.people.admin.id },
    name: 'reads too',
    abilities: ['user', 'read'],
  })
  return Object.assign(svc, { reading, adminReading: clientOf(svc, reading) })
}

/** Two services never write at the same moment, and never choose the same signs. */
const comparable = (outcome: Outcome): Outcome => {
  const text = JSON.stringify(outcome).replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"then"')
  return JSON.parse(text.replaceAll(/lug":"[^"]+"/g, 'lug":"some"'))
}

/** Sealed, made by chance, or a moment. */
const incomparable = ['api_key', 'additional_config', 'slug', 'expires_at', 'key_epoch_since', 'rekey_required_since']

/** All rows of all tables, without what differs between two services that did the same. */
async function stateOf({ rows }: JsonApiApp) {
  const tables = [
    ...resources.flatMap(({ type, entity }) => (entity ? catalogue.tableOf(type).table : [])),
    'ai_model_tools',
    'ai_model_usage_rules',
  ]
  const state = await Promise.all(
    tables.map(async (table) => {
      const found = await rows<{ row: Record<string, unknown> }>(
        `select to_jsonb(t) - 'created_at' - 'updated_at' as row from ${table} t`,
      )
      const plain = found.map(({ row }) =>
        JSON.stringify(row, (key, value) => (incomparable.includes(key) ? value !== null : value)),
      )
      return [table, plain.toSorted()] as const
    }),
  )
  return Object.fromEntries(state)
}

const queries = routes.filter(({ procedure }) => procedure?._def.type === 'query')
/** Rows go at the end, and last of all the people who ask. */
const lateness = ({ answers, resource: { type } }: Route) => (answers === 'nothing' ? (type === 'users' ? 2 : 1) : 0)
const mutations = routes
  .filter(({ procedure }) => procedure?._def.type === 'mutation')
  .toSorted((a, b) => lateness(a) - lateness(b))
/** Who can do everything with rows of a type. */
const makerOf = (type: string) => (type.startsWith('room') ? 'ada' : 'admin')
const nameOf = ({ method, url }: Route) => `${method} ${url}`

type App = Awaited<ReturnType<typeof start>>

/** Asks the one service by its procedure and the other by a document; tells how many things both of them showed. */
async function compare(one: App, other: App, caller: (typeof callers)[number], route: Route) {
  let shown = 0
  let done = false
  for (const input of inputsFor(route, caller)) {
    const called = await byProcedure(one, tokenOf(one, caller), route, input)
    const answered = await byDocument(other[caller], route, input)
    const [asked, judged] = [{ caller, route: nameOf(route), input }, one === other ? same : comparable]
    expect({ ...asked, ...judged(answered) }).toEqual({ ...asked, ...judged(called) })
    if ('refused' in called) continue
    done = true
    shown += called.objects.length
  }
  return { shown, done }
}

const same = (outcome: Outcome) => outcome

describe('the procedures and JSON:API', { timeout: 180_000 }, () => {
  test.for(callers)('show %s the same', async (caller) => {
    await using svc = await start()
    let all = 0
    for (const route of queries) {
      const { shown } = await compare(svc, svc, caller, route)
      all += shown
    }
    // Not because nobody saw anything.
    expect(all).toBeGreaterThan(caller === 'guest' ? 2 : 100)
  })

  test('do the same, and refuse the same, whoever asks', async () => {
    await using one = await start()
    await using other = await start()
    expect(await stateOf(other)).toEqual(await stateOf(one))
    const worked: string[] = []
    for (const [caller, route] of callers.flatMap((caller) => mutations.map((route) => [caller, route] as const))) {
      const { done } = await compare(one, other, caller, route)
      if (done) worked.push(`${caller} ${nameOf(route)}`)
      expect([caller, nameOf(route), await stateOf(other)]).toEqual([caller, nameOf(route), await stateOf(one)])
    }
    const wanted = Object.keys(examples).flatMap((type) =>
      [`POST /${type}`, `PATCH /${type}/:id`, `DELETE /${type}/:id`].map((name) => `${makerOf(type)} ${name}`),
    )
    expect(worked).toEqual(expect.arrayContaining(wanted))
    for (const verb of ['POST', 'PATCH', 'DELETE'])
      expect(worked).toContain(`admin ${verb} /ai-tools/:id/relationships/models`)
    expect(worked).toContain('ada PATCH /users/:id')
  })

  test('refuse every token while external communication is off, and let a guest be a guest', async () => {
    await using svc = await start({ ALLOW_EXTERNAL_COMMUNICATION: 'false' })
    for (const route of routes) {
      const [input = {}] = inputsFor(route)
      const called = await byProcedure(svc, svc.people.admin.token, route, input)
      const answered = await byDocument(svc.admin, route, input)
      expect([route.url, called, answered]).toEqual([
        route.url,
        { refused: 'external_communication_off' },
        { refused: 'external_communication_off' },
      ])
      expect(await byDocument(svc.guest, route, input)).toEqual(await byProcedure(svc, undefined, route, input))
    }
  })

  test('refuse a token that is none in one way', async () => {
    await using svc = await start()
    for (const route of routes) {
      const [input = {}] = inputsFor(route)
      const called = await byProcedure(svc, 'rubbish', route, input)
      expect([route.url, called]).toEqual([route.url, { refused: 'invalid_token' }])
      expect(await byDocument(clientOf(svc, 'rubbish'), route, input)).toEqual(called)
    }
  })
})
