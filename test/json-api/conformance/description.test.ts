import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test, vi } from 'vitest'
import { object } from '../../conformance/json.ts'
import type { Breakage } from '../../conformance/reference/breakages.ts'
import { type Row, type Store, types } from '../../conformance/reference/model.ts'
import { type Spoil, startReferenceServer } from '../../conformance/reference-server.ts'
import { readServerDescription, type ServerDescription } from '../../conformance/server-description.ts'
import { obligations, type Result, runSuite } from '../../conformance/suite.ts'

// A run takes some thousand requests on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

const described = {
  server: 'The reference server, which here says nothing of itself',
  openapi: false,
  types: {
    articles: {
      include: ['author', 'tags'],
      sort: ['title'],
      page: ['page[size]', 'page[number]'],
      create: { attributes: { title: 'Made {unique}', words: 10, published: true } },
      update: { attributes: { title: 'Changed {unique}' } },
      relationships: {
        author: { to: 'people', required: true, change: ['PATCH'] },
        sequel: { to: 'articles', set: ['create', 'update'], change: ['PATCH'] },
        tags: { to: 'tags', many: true, set: ['create', 'update'], change: ['PATCH', 'POST', 'DELETE'] },
      },
    },
    people: { create: { attributes: { name: 'Somebody {unique}' } }, update: { attributes: { name: 'Another' } } },
    tags: { relationships: { articles: { to: 'articles', many: true } } },
  },
}

/** Reads a description from a file. */
async function describedBy(content: unknown): Promise<ServerDescription> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-conformance-'))
  const file = join(folder, 'server.json')
  await writeFile(file, JSON.stringify(content))
  return readServerDescription(file).finally(() => rm(folder, { recursive: true }))
}

const silent: Spoil = (request, answer) => (request.segments[0] === 'openapi.json' ? { status: 404 } : answer(request))

interface Run {
  content?: object
  spoil?: Spoil
  break?: Breakage
  /** Prefixes of the obligations to run; all by default. */
  only?: string[]
}

/** All rows as text, with the members of a relationship in any order. */
const rowsOf = (store: Store) =>
  JSON.stringify(
    Object.keys(types).map((name) => store.all(name)),
    (_, value: unknown) =>
      Array.isArray(value) && value.every((it) => typeof it === 'string') ? value.toSorted() : value,
  )

/** Runs the suite by a description against a server that does not describe itself. */
async function runDescribed({ content = described, spoil = silent, only = [''], ...options }: Run = {}) {
  await using server = await startReferenceServer({ spoil, ...options })
  const before = rowsOf(server.store)
  const left: string[] = []
  const results = await runSuite(
    {
      url: server.url,
      write: true,
      description: await describedBy(content),
      onLeftBehind: (urls) => left.push(...urls),
    },
    named(only),
  )
  return { results, left, isAsBefore: rowsOf(server.store) === before }
}

const named = (beginnings: string[]) => obligations.filter(({ id }) => beginnings.some((it) => id.startsWith(it)))

const idsOf = (results: Result[], state: Result['state']) =>
  results.filter((it) => it.state === state).map(({ id }) => id)

test('a server without a description is tested by a file and left unchanged', async () => {
  const { results, left, isAsBefore } = await runDescribed()
  expect(idsOf(results, 'failed')).toEqual([])
  expect(idsOf(results, 'passed')).toEqual(
    expect.arrayContaining([
      'creating.status',
      'creating.keeps-values',
      'creating.local-id-in-linkage',
      'creating.missing-related',
      'updating.takes-effect',
      'updating.to-many',
      'relationships.set-to-one',
      'relationships.remove',
      'deleting.gone',
    ]),
  )
  expect(left).toEqual([])
  expect(isAsBefore).toBe(true)
})

test('a described server is found out where it writes wrongly', async () => {
  const { results } = await runDescribed({ break: 'adds-twice', only: ['relationships.'] })
  expect(idsOf(results, 'failed')).toContain('relationships.add-present')
})

test('only a complete description makes an unoffered operation an error', async () => {
  const tags = (complete: boolean) => ({ ...described, types: { tags: { complete } } })
  const stateOf = ({ results }: { results: Result[] }) => results.find(({ id }) => id === 'updating.unsupported')?.state
  expect(stateOf(await runDescribed({ content: tags(false), only: ['updating.'] }))).toBe('not applicable')
  expect(stateOf(await runDescribed({ content: tags(true), only: ['updating.'] }))).toBe('passed')
})

test('rules that a description skips are reported with their reason, and not tried', async () => {
  const skip = [
    { rule: 'sorting', reason: 'Sorting is being rewritten.' },
    { rule: 'paging.place', reason: 'Known.' },
  ]
  const { results } = await runDescribed({ content: { ...described, skip }, only: ['sorting.', 'paging.', 'reading.'] })
  const skipped = results.filter(({ state }) => state === 'skipped')
  expect(skipped.map(({ id }) => id)).toContain('sorting.ascending')
  expect(skipped.find(({ id }) => id === 'paging.place')).toMatchObject({ why: 'Known.', findings: [] })
  await expect(
    runDescribed({ content: { ...described, skip: [{ rule: 'sortig', reason: 'A slip.' }] } }),
  ).rejects.toThrow(/"sortig".*neither a rule nor a chapter/)
})

test('the headers of a description are sent with every request', async () => {
  const keys = new Set<unknown>()
  await using server = await startReferenceServer({
    spoil: (request, answer) => {
      keys.add(request.headers['x-key'])
      return answer(request)
    },
  })
  const description = await describedBy(described)
  await runSuite({ url: server.url, description, headers: { 'x-key': 'secret' } }, [])
  expect([...keys]).toEqual(['secret'])
})

test('a resource that an update made by mistake is removed', async () => {
  let copies = 0
  await using server = await startReferenceServer({
    spoil: (request, answer) => {
      const reply = silent(request, answer)
      const data = object(object(reply.document)['data'])
      if (request.method !== 'PATCH' || data['type'] !== 'people') return reply
      const copy: Row = { type: 'people', id: `copy-${copies++}`, attributes: { name: 'Copy' }, links: {} }
      server.store.add(copy)
      return { ...reply, document: { data: { ...data, id: copy.id } } }
    },
  })
  const left: string[] = []
  await runSuite(
    {
      url: server.url,
      write: true,
      description: await describedBy(described),
      onLeftBehind: (urls) => left.push(...urls),
    },
    named(['updating.']),
  )
  expect(copies).toBeGreaterThan(0)
  expect(server.store.all('people')).toHaveLength(3)
  expect(left).toEqual([])
})

test('what cannot be removed is told', async () => {
  const { left } = await runDescribed({
    only: ['creating.'],
    spoil: (request, answer) =>
      request.method === 'DELETE' && request.segments[0] === 'people' && request.segments.length === 2
        ? { status: 403 }
        : silent(request, answer),
  })
  expect(left).not.toEqual([])
  expect(left.every((url) => /\/api\/people\/[\w-]+$/.test(url))).toBe(true)
})

test('a relationship that takes no replacement gets its members back one by one', async () => {
  const { articles, ...others } = described.types
  const tags = { ...articles.relationships.tags, change: ['POST', 'DELETE'] }
  const { create: _, ...fixed } = articles
  const content = { ...described, types: { ...others, articles: { ...fixed, relationships: { tags } } } }
  const { results, isAsBefore } = await runDescribed({ content, only: ['relationships.'] })
  expect(idsOf(results, 'passed')).toContain('relationships.add')
  expect(isAsBefore).toBe(true)
})

test.each([
  [{ ...described, types: {} }, /names no type/],
  [{ ...described, types: { tags: { pages: [] } } }, /"pages"/],
  [{ ...described, types: { tags: { relationships: { articles: { many: true } } } } }, /articles\.to/],
  [{ ...described, skip: [{ rule: 'sorting' }] }, /skip\[0\]\.reason/],
])('a description that is wrong is refused with the place that is wrong: %#', async (content, message) => {
  await expect(describedBy(content)).rejects.toThrow(message)
})

test('the descriptions of foreign servers that come with the suite can be read', async () => {
  const folder = fileURLToPath(new URL('../../conformance/descriptions/', import.meta.url))
  const files = await readdir(folder)
  const read = await Promise.all(files.map((file) => readServerDescription(join(folder, file))))
  expect(read.map(({ server }) => server.split(' ')[0]).sort()).toEqual([
    'fortune-json-api',
    'json-api-nestjs',
    'jsonapi-server',
  ])
})
