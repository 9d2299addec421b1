import { describe, expect, test } from 'vitest'
import { buildRoutes, type Route } from '../../facades/json-api/routes.ts'
import { appRouter, resources } from '../../routers/index.ts'
import { catalogue } from '../kit/catalogue.ts'
import { addCatalogue, createApiClient, type JsonApiApp, startJsonApi } from '../kit/json-api/client.ts'
import { callDocument } from '../kit/json-api/differential/by-document.ts'
import { callProcedure } from '../kit/json-api/differential/by-procedure.ts'
import { buildInputs, examples } from '../kit/json-api/differential/inputs.ts'
import type { Outcome } from '../kit/json-api/differential/outcome.ts'

/** Only JSON:API uploads and deletes files. */
const routes = buildRoutes(appRouter).filter(
  ({ procedure, answers, hasFile }) => procedure && answers !== 'file' && !hasFile,
)

const callers = ['guest', 'ada', 'bob', 'adminReading', 'admin'] as const

const tokenOf = ({ people, reading }: JsonApiApp & { reading: string }, caller: (typeof callers)[number]) =>
  caller === 'guest' ? undefined : caller === 'adminReading' ? reading : people[caller].token

/** Starts the service with a catalogue and a read-only token of the administrator. */
async function start(settings: Record<string, string> = {}) {
  const svc = await startJsonApi(settings)
  // Marks the periodic check of models and tool servers as done, since two services would not run it at the same moment.
  await svc.services.stores.kv.setIfAbsent('catalogue:checked', '1', 3_600_000)
  if (svc.env.ALLOW_EXTERNAL_COMMUNICATION !== false) {
    await addCatalogue(svc)
    await svc.ada.create('rooms', { name: 'First' })
  }
  const { token: reading } = await svc.host.tokens.createFor({
    user: { id: svc.people.admin.id },
    name: 'reads too',
    abilities: ['user', 'read'],
  })
  return Object.assign(svc, { reading, adminReading: createApiClient(svc, reading) })
}

/** Values that differ between two services: times and random texts. */
const comparable = (outcome: Outcome): Outcome => {
  const text = JSON.stringify(outcome).replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"then"')
  return JSON.parse(text.replaceAll(/lug":"[^"]+"/g, 'lug":"some"'))
}

/** Columns with encrypted values, random values or times. */
const incomparable = ['api_key', 'additional_config', 'slug', 'expires_at', 'key_epoch_since', 'rekey_required_since']

const tables = [
  ...resources.flatMap(({ type, entity }) => (entity ? [catalogue.tableOf(type).table] : [])),
  'ai_model_tools',
  'ai_model_usage_rules',
]

/** One statement for all tables, as it runs after each of some hundred changes. */
const ALL_ROWS = tables
  .map((table) => `select '${table}' as name, to_jsonb(t) - 'created_at' - 'updated_at' as row from ${table} t`)
  .join(' union all ')

/** Reads all rows of all tables without the values that always differ between two services. */
async function stateOf({ rows }: JsonApiApp) {
  const state: Record<string, string[]> = Object.fromEntries(tables.map((table) => [table, []]))
  for (const { name, row } of await rows<{ name: string; row: Record<string, unknown> }>(ALL_ROWS))
    state[name]?.push(JSON.stringify(row, (key, value) => (incomparable.includes(key) ? value !== null : value)))
  for (const found of Object.values(state)) found.sort()
  return state
}

const queries = routes.filter(({ procedure }) => procedure?._def.type === 'query')
/** Deletions come last, and the callers themselves at the very end. */
const lateness = ({ answers, resource: { type } }: Route) => (answers === 'nothing' ? (type === 'users' ? 2 : 1) : 0)
const mutations = routes
  .filter(({ procedure }) => procedure?._def.type === 'mutation')
  .toSorted((a, b) => lateness(a) - lateness(b))
/** The caller who may do everything with rows of a type. */
const makerOf = (type: string) => (type.startsWith('room') ? 'ada' : 'admin')
const nameOf = ({ method, url }: Route) => `${method} ${url}`

type App = Awaited<ReturnType<typeof start>>

/** The rights of a token depend on the route alone, so one in eight inputs shows them. */
const inputsOf = (caller: (typeof callers)[number], route: Route) =>
  buildInputs(route).filter((_, at) => caller !== 'adminReading' || at % 8 === 0)

/** Calls one service by the procedure and the other by a document; returns the number of objects that both returned. */
async function compare(one: App, other: App, caller: (typeof callers)[number], route: Route) {
  let shown = 0
  let done = false
  for (const input of inputsOf(caller, route)) {
    const called = await callProcedure(one, tokenOf(one, caller), route, input)
    const answered = await callDocument(other[caller], route, input)
    const [call, judged] = [{ caller, route: nameOf(route), input }, one === other ? same : comparable]
    expect({ ...call, ...judged(answered) }).toEqual({ ...call, ...judged(called) })
    if ('refused' in called) continue
    done = true
    shown += called.objects.length
  }
  return { shown, done }
}

const same = (outcome: Outcome) => outcome

describe('the procedures and JSON:API', { timeout: 600_000 }, () => {
  test.for(callers)('show %s the same', async (caller) => {
    await using svc = await start()
    let all = 0
    for (const route of queries) {
      const { shown } = await compare(svc, svc, caller, route)
      all += shown
    }
    // Equal results count only if there were any.
    expect(all).toBeGreaterThan({ guest: 2, adminReading: 50, ada: 100, bob: 100, admin: 100 }[caller])
  })

  test('are tried with an example of each type that can be made', () => {
    const made = mutations.flatMap(({ answers, resource: { type } }) => (answers === 'created' ? type : []))

    expect(made.toSorted()).toEqual([...Object.keys(examples), 'ext-apps', 'room-messages'].toSorted())
  })

  test('do the same, and refuse the same, whoever asks', async () => {
    await using one = await start()
    await using other = await start()
    expect(await stateOf(other)).toEqual(await stateOf(one))
    const worked: string[] = []
    for (const [caller, route] of callers.flatMap((caller) => mutations.map((route) => [caller, route] as const))) {
      const { done } = await compare(one, other, caller, route)
      if (done) worked.push(`${caller} ${nameOf(route)}`)
      const [state, otherState] = await Promise.all([stateOf(one), stateOf(other)])
      expect([caller, nameOf(route), otherState]).toEqual([caller, nameOf(route), state])
    }
    const wanted = Object.keys(examples).flatMap((type) =>
      [`POST /${type}`, `PATCH /${type}/:id`, `DELETE /${type}/:id`].map((name) => `${makerOf(type)} ${name}`),
    )
    expect(worked).toEqual(expect.arrayContaining(wanted))
    for (const verb of ['POST', 'PATCH', 'DELETE'])
      expect(worked).toContain(`admin ${verb} /ai-tools/:id/relationships/models`)
    expect(worked).toContain('ada PATCH /users/:id')
  })

  test('refuse every token, but not a guest, while external communication is off', async () => {
    await using svc = await start({ ALLOW_EXTERNAL_COMMUNICATION: 'false' })
    for (const route of routes) {
      const [input = {}] = buildInputs(route)
      const called = await callProcedure(svc, svc.people.admin.token, route, input)
      const answered = await callDocument(svc.admin, route, input)
      expect([route.url, called, answered]).toEqual([
        route.url,
        { refused: 'external_communication_off' },
        { refused: 'external_communication_off' },
      ])
      expect(await callDocument(svc.guest, route, input)).toEqual(await callProcedure(svc, undefined, route, input))
    }
  })

  test('refuse a token that is none in one way', async () => {
    await using svc = await start()
    for (const route of routes) {
      const [input = {}] = buildInputs(route)
      const called = await callProcedure(svc, 'rubbish', route, input)
      expect([route.url, called]).toEqual([route.url, { refused: 'invalid_token' }])
      expect(await callDocument(createApiClient(svc, 'rubbish'), route, input)).toEqual(called)
    }
  })
})
