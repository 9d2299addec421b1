import { beforeAll, describe, expect, test, vi } from 'vitest'
import { isObject } from '../../conformance/json.ts'
import { breakages } from '../../conformance/reference/breakages.ts'
import { types } from '../../conformance/reference/model.ts'
import type { ApiRequest, Reply } from '../../conformance/reference/requests.ts'
import { spoils } from '../../conformance/reference/spoils.ts'
import { type Spoil, startReferenceServer } from '../../conformance/reference-server.ts'
import { obligations, type Result, runSuite } from '../../conformance/suite.ts'

// A run takes some thousand requests on a busy machine.
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

const idsOf = (results: Result[], ...states: Result['state'][]) =>
  results.filter(({ state }) => states.includes(state)).map(({ id }) => id)
const held = (id: string) => obligations.filter((obligation) => obligation.id === id)

test('the conformance suite lists each obligation once, with its level and source', () => {
  const ids = obligations.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.length).toBeGreaterThan(150)
  for (const { level, source, says } of obligations) {
    expect(level).toMatch(/^(MUST|SHOULD|MAY)$/)
    expect(source).toMatch(/^jsonapi 1\.1 .+ \[[\d, -]+\]$/)
    expect(says).toMatch(/\.$/)
  }
})

describe('on a server that is right', () => {
  let results: Result[]
  let rows: Record<'before' | 'after', string>
  beforeAll(async () => {
    await using server = await startReferenceServer()
    const read = () => JSON.stringify(Object.keys(types).map((name) => server.store.all(name)))
    const before = read()
    results = await runSuite({ url: server.url, write: true })
    rows = { before, after: read() }
  })

  test('the conformance suite finds every obligation met, and none left out', () => {
    expect(results.filter(({ state }) => state !== 'passed')).toEqual([])
    expect(results).toHaveLength(obligations.length)
  })

  test('the conformance suite leaves the server as it was', () => {
    expect(rows.after).toBe(rows.before)
  })
})

test('the conformance suite writes nothing unless it may', async () => {
  const methods = new Set<string>()
  await using server = await startReferenceServer({
    spoil: watching(({ method }) => methods.add(method)),
  })
  const results = await runSuite({ url: server.url })
  expect([...methods]).toEqual(['GET'])
  expect(idsOf(results, 'failed')).toEqual([])
  expect(results.find(({ id }) => id === 'creating.status')).toMatchObject({
    state: 'not applicable',
    why: expect.stringContaining('--write'),
  })
})

test('the conformance suite needs no description where it is given the types', async () => {
  await using server = await startReferenceServer({
    spoil: (request, answer) => (request.segments[0] === 'openapi.json' ? { status: 404 } : answer(request)),
  })
  const results = await runSuite({ url: server.url, types: ['articles', 'people'] })
  expect(idsOf(results, 'failed')).toEqual([])
  expect(idsOf(results, 'passed')).toEqual(
    expect.arrayContaining(['reading.related', 'reading.linkage', 'paging.each-once', 'document.linkage']),
  )
})

test.each(Object.entries(spoils))('the conformance suite sees that a server does not meet %s', async (id, spoil) => {
  await using server = await startReferenceServer({ spoil })
  const results = await runSuite({ url: server.url, write: true }, held(id))
  expect(results).toMatchObject([{ id, state: 'failed' }])
  expect(results[0]?.findings).not.toContainEqual(expect.objectContaining({ at: 'the check itself' }))
})

test('the conformance suite has no obligation that cannot fail, other than what is optional', () => {
  const seenFailing = new Set([...Object.values<readonly string[]>(breakages).flat(), ...Object.keys(spoils)])
  const never = obligations.filter(({ id, level }) => level !== 'MAY' && !seenFailing.has(id))
  expect(never.map(({ id }) => id)).toEqual([])
})

test('the conformance suite tells a named exception from a failure', async () => {
  const member = (name: string) => startReferenceServer({ spoil: (request, answer) => withMeta(answer(request), name) })
  await using named = await member('_svc_sync_log')
  await using unnamed = await member('_another')
  expect(await runSuite({ url: named.url }, held('names.edges'))).toMatchObject([{ state: 'named exception' }])
  expect(await runSuite({ url: unnamed.url }, held('names.edges'))).toMatchObject([{ state: 'failed' }])
})

const watching =
  (look: (request: ApiRequest) => void): Spoil =>
  (request, answer) => {
    look(request)
    return answer(request)
  }

const withMeta = (reply: Reply, name: string): Reply =>
  isObject(reply.document) && 'data' in reply.document
    ? { ...reply, document: { ...reply.document, meta: { [name]: [] } } }
    : reply
