import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { buildRoutes, type Route } from '../../facades/json-api/routes.ts'
import { catalogue } from '../kit/catalogue.ts'
import { addAssistant, allResources, releaseForAll, wholeRouter, withAssistants } from '../kit/json-api/assistants.ts'
import { addCatalogue, type JsonApiApp, mediaType, startJsonApi } from '../kit/json-api/client.ts'
import { anyRequest, encodeParameter } from '../kit/json-api/fuzz.ts'
import { bearerHeader, type RawAnswer, sendRaw } from '../kit/json-api/raw-request.ts'
import { chooseRounds } from '../kit/rounds.ts'

const MINUTES = chooseRounds(300_000, 900_000)
const SEED = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31)
const routes = buildRoutes(wholeRouter)

interface Shape {
  data?: unknown
  included?: unknown[]
  errors?: { status: unknown; code: unknown; title: unknown; meta?: { requestId?: unknown } }[]
  meta?: object
  jsonapi?: object
}

interface Object_ {
  type: string
  id: string
}

const objectsIn = ({ data, included = [] }: Shape) => [...[data ?? []].flat(), ...included] as Object_[]

/** Every allowed status of a response to these requests. */
const statuses = [200, 201, 304, 400, 401, 403, 404, 405, 406, 409, 412, 413, 415, 422]

/** Checks that a response is a JSON:API document in its media type, with the request id if it is an error. */
function assertDocument({ status, headers, text }: RawAnswer): Shape {
  expect(statuses).toContain(status)
  if (status === 304) return {}
  expect(headers['content-type']).toBe(mediaType)
  const document = JSON.parse(text) as Shape
  expect(document.jsonapi).toEqual({ version: '1.1' })
  expect('data' in document && 'errors' in document).toBe(false)
  expect('data' in document || 'errors' in document || 'meta' in document).toBe(true)
  expect('errors' in document).toBe(status >= 400)
  for (const error of document.errors ?? []) {
    expect(error.meta?.requestId).toBe(headers['x-request-id'])
    expect(error.status).toBe(String(status))
    expect([typeof error.code, typeof error.title]).toEqual(['string', 'string'])
  }
  const named = objectsIn(document).map(({ type, id }) => {
    expect([typeof type, typeof id]).toEqual(['string', 'string'])
    return `${type}/${id}`
  })
  expect(new Set(named).size).toBe(named.length)
  return document
}

/**
 * Throws everything at every route, as the holder of a token; `runs` requests at each, in the soak four times as many. What
 * failed is told with its request and the seed, which `FUZZ_SEED` sets.
 */
async function attack(
  svc: JsonApiApp,
  token: string | undefined,
  judge: (document: Shape, text: string) => void,
  runs: number,
) {
  for (const route of routes) {
    const property = fc.asyncProperty(anyRequest(route), async ([ownId, query, body, extra]) => {
      const path = `${route.url.replace(':id', encodeParameter(ownId))}${query && `?${query}`}`
      fc.pre(!isSuicide(svc, route, ownId))
      const sends = route.method !== 'GET' && { body }
      const type = sends && { 'content-type': mediaType }
      const sent = {
        method: route.method,
        path,
        headers: { ...extra, ...type, ...(token && bearerHeader(token)) },
        ...sends,
      }
      const answer = await sendRaw(svc.url, sent)
      try {
        judge(assertDocument(answer), answer.text)
      } catch (cause) {
        const exchange = JSON.stringify({ ...sent, headers: { ...extra, ...type }, answer })
        throw new Error(`${(cause as Error).message}\nRequest and answer: ${exchange.slice(0, 4000)}`, { cause })
      }
    })
    await fc.assert(property, { numRuns: runs * chooseRounds(1, 4), seed: SEED, endOnFailure: true })
  }
}

/** These callers cannot continue after they remove or demote themselves. */
const isSuicide = ({ people }: JsonApiApp, { method, resource }: Route, ownId: string) =>
  method !== 'GET' && resource.type === 'users' && ownId === String(people.admin.id)

describe('whatever is thrown at any route', () => {
  test('a guest gets a document, and nothing that is not for everybody', { timeout: MINUTES }, async () => {
    await using svc = await startJsonApi(withAssistants)
    await addCatalogue(svc)
    const open = new Set(['configs', 'translation-labels'])

    await attack(
      svc,
      undefined,
      (document) => {
        for (const { type } of objectsIn(document)) expect(open).toContain(type)
      },
      1,
    )
  })

  test('a person gets a valid document without hidden or foreign rows', { timeout: MINUTES }, async () => {
    await using svc = await startJsonApi(withAssistants)
    const { provider, model, tool } = await addCatalogue(svc)
    const { ada, bob, admin } = svc.people
    await addAssistant(svc.ada, 'of-ada', 'external')
    const shared = await addAssistant(svc.bob, 'bobs-shared', 'external')
    await releaseForAll(svc.bob, shared.id)
    const draft = await addAssistant(svc.bob, 'bobs-draft', 'external')
    const unpublished = await svc.rows<{ id: number }>(
      `select v.id from assistant_versions v join assistants a on a.id = v.assistant_id
        where a.owner_id = $1 and a.published is distinct from v.number`,
      [bob.id],
    )
    const hidden = new Set([
      ...[model.main, model.inactive, model.orphan, model.innerOnly].map((id) => `ai-models/${id}`),
      ...[provider.off, provider.inner].map((id) => `ai-providers/${id}`),
      `ai-tools/${tool.off}`,
      ...[bob.id, admin.id].map((id) => `users/${id}`),
      `assistants/${draft.id}`,
      ...[`assistant-user-prompts/${draft.starter}`, 'assistant-tags/tag of bobs-draft'],
      ...unpublished.map(({ id }) => `assistant-versions/${id}`),
    ])
    const before = await stateOf(svc)

    await attack(
      svc,
      ada.token,
      (document, text) => {
        for (const { type, id } of objectsIn(document)) expect(hidden).not.toContain(`${type}/${id}`)
        expect(text).not.toMatch(/KEY-OF-|bob@example|admin@example|INSTRUCTIONS-OF-bob|-OF-bobs-draft/)
      },
      4,
    )

    expect(await stateOf(svc)).toEqual(before)
  })

  test('an administrator gets a document, and no secret', { timeout: MINUTES }, async () => {
    await using svc = await startJsonApi(withAssistants)
    await addCatalogue(svc)

    await addAssistant(svc.bob, 'bobs-draft', 'external')

    await attack(svc, svc.people.admin.token, (_, text) => expect(text).not.toMatch(/KEY-OF-|-OF-bobs/), 6)

    expect(svc.log.filter((line) => line.includes('"level":50'))).toEqual([])
  })
})

/** Types that people write themselves; some requests at other routes create rooms, too. */
const own = [
  ...['users', 'rooms', 'room-members', 'room-messages', 'attachments', 'user-keychain-values'],
  ...['assistants', 'assistant-versions'],
]

/** The rows of types that only administrators change, and the assistants of Bob. */
const stateOf = async ({ rows, people }: JsonApiApp) =>
  Promise.all([
    rows(
      `select a.*, v.* from assistants a join assistant_versions v on v.assistant_id = a.id where a.owner_id = $1
        order by v.id`,
      [people.bob.id],
    ),
    ...allResources
      .flatMap(({ type, entity }) => (entity && !own.includes(type) ? catalogue.tableOf(type) : []))
      .map(({ table }) => rows(`select md5(string_agg(t::text, ',' order by t.id)) as print from ${table} t`)),
  ])
