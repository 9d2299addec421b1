import { setImmediate } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { coalescedStatement } from '../../entities/sql/statement.ts'
import { aiModels } from '../../routers/catalogue/ai-models.ts'
import { createContext } from '../../routers/core/context.ts'
import { createCallerFactory, host, router } from '../../routers/core/trpc.ts'
import { resourceId } from '../../routers/resource/ids.ts'
import { getRow } from '../../routers/verbs/read.ts'
import { coalesce } from '../../server/database/coalesce.ts'
import {
  addCatalogue,
  type Catalogue,
  type Client,
  idsOf,
  type JsonApiApp,
  startJsonApi,
} from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'
import { watchStatements } from '../kit/statements.ts'

const statements = watchStatements()

let catalogue: Catalogue
const svc = shareResource(() => startJsonApi({ DATABASE_PER_PERSON: '50' }))
beforeAll(async () => {
  catalogue = await addCatalogue(svc)
})

type Called = { id: string; relations: Record<string, unknown>; items: { id: string }[]; total: number }

/** Calls procedures as Ada in one batch, so that they share a turn of the event loop; returns results or error codes. */
async function together(svc: JsonApiApp, calls: readonly (readonly [procedure: string, input: object])[]) {
  const paths = calls.map(([procedure]) => procedure).join()
  const input = JSON.stringify(Object.fromEntries(calls.map(([, given], index) => [index, given])))
  const url = `/trpc/${paths}?batch=1&input=${encodeURIComponent(input)}`
  const response = await svc.send('GET', url, { token: svc.people.ada.token })
  const answers = (await response.json()) as { result?: { data: Called }; error?: { data: { code: string } } }[]
  return answers.map(({ result, error }) => result?.data ?? error?.data.code)
}

/** Number of statements since the last call that read rows of a table for a caller. */
const readsOf = (table: string) => statements.take().filter(({ text }) => text.includes(`from ${table} t `)).length

test('concurrent callers share a statement, and each gets only visible rows', async () => {
  const { model } = catalogue
  const ids = [model.external, model.inactive, model.main, model.external]
  statements.take()

  const found = await together(
    svc,
    ids.map((id) => ['aiModels.get', { id }]),
  )

  expect(readsOf('ai_models')).toBe(1)
  expect(found).toMatchObject([{ id: model.external }, 'NOT_FOUND', 'NOT_FOUND', { id: model.external }])
})

test('concurrent callers get their own page of a list by one statement', async () => {
  const { tool } = catalogue
  const page = (size: number, number: number) => ['aiTools.list', { page: { size, number } }] as const
  statements.take()

  const found = (await together(svc, [page(2, 1), page(2, 1), page(2, 2), page(1, 1)])) as Called[]

  expect(readsOf('ai_tools')).toBe(1)
  expect(found.map(({ items }) => idsOf(items as never))).toEqual([
    [tool.search, tool.fetch],
    [tool.search, tool.fetch],
    [tool.loose],
    [tool.search],
  ])
  expect(found.map(({ total }) => total)).toEqual([3, 3, 3, 3])
})

test('concurrent callers get only the includes that they requested', async () => {
  const { model, provider, tool } = catalogue
  const id = model.external
  const plain = { provider: { id: provider.open } }
  statements.take()

  const [alone, owned, equipped, both] = (await together(svc, [
    ['aiModels.get', { id }],
    ['aiModels.get', { id, include: ['provider'] }],
    ['aiModels.get', { id, include: ['tools'] }],
    ['aiModels.get', { id, include: ['provider', 'tools.server'] }],
  ])) as Called[]

  expect(readsOf('ai_models')).toBe(1)
  const tools = [{ id: tool.search }, { id: tool.fetch }]
  expect(alone?.relations).toEqual(plain)
  expect(owned?.relations).toMatchObject({ provider: { id: provider.open, name: 'open' } })
  expect(owned?.relations).not.toHaveProperty('tools')
  expect(equipped?.relations).toMatchObject({ ...plain, tools })
  expect(equipped?.relations).not.toHaveProperty('provider.name')
  expect(both?.relations).toMatchObject({ provider: { name: 'open' }, tools })
  // The tools of one are not the tools of the other, which have their servers with them.
  expect(equipped?.relations).not.toHaveProperty('tools.1.relations.server.serverLabel')
  expect(both?.relations).toHaveProperty('tools.1.relations.server.serverLabel', 'up')
})

test('who asks in one turn sees what they would see alone, whoever else asks', async () => {
  const { model } = catalogue
  const callers: Client[] = [svc.ada, svc.bob, svc.admin, svc.adminReading, svc.guest]
  const paths = [
    '/users',
    '/ai-models?include=provider',
    `/ai-models/${model.main}`,
    '/ai-providers',
    '/system-prompts',
  ]
  const reads = callers.flatMap((client) =>
    paths.flatMap((path) => ['de_DE', 'en_US'].map((locale) => () => client.get(path, { 'x-app-locale': locale }))),
  )
  const alone = []
  for (const read of reads) alone.push(withoutRequest(await read()))

  for (let round = 0; round < 5; round++) {
    const atOnce = await Promise.all(reads.map((read) => read()))
    expect(atOnce.map(withoutRequest)).toEqual(alone)
  }
  // Otherwise all callers would have got the same.
  expect(new Set(alone).size).toBeGreaterThan(12)
})

test('concurrent callers share the failure of a statement, and the next succeeds', async () => {
  const { model } = catalogue
  const calls = [model.external, model.main].map((id) => ['aiModels.get', { id }] as const)
  await svc.rows('alter table ai_models rename to gone')
  expect(await together(svc, calls)).toEqual(['INTERNAL_SERVER_ERROR', 'INTERNAL_SERVER_ERROR'])

  await svc.rows('alter table gone rename to ai_models')

  expect(await together(svc, calls)).toMatchObject([{ id: model.external }, 'NOT_FOUND'])
})

/** A procedure that changes the record it got, which no procedure may do. */
const spoiling = router({
  models: router({
    spoil: host.input(z.strictObject({ id: resourceId })).query(async ({ ctx, input }) => {
      const model = await getRow(ctx, aiModels, input.id)
      // @ts-expect-error Records are read-only by type, too.
      model.flags.push('spoilt')
    }),
  }),
})

test('a handler that changes a record which others may hold fails', async () => {
  const { model } = catalogue
  const api = createCallerFactory(spoiling)(() => createContext(svc.services, { origin: 'host', requestId: 'spoil' }))

  await expect(api.models.spoil({ id: model.external })).rejects.toThrow(/not extensible/)
})

const withoutRequest = ({ status, text }: { status: number; text: string }) =>
  `${status} ${text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '')}`

test('runs of a statement that are stuck hold up nobody who asks after them', async () => {
  const runs: unknown[] = []
  const stuck = Promise.withResolvers<never[]>()
  const sql = coalesce(async (_, values = []) => {
    runs.push(values)
    return runs.length <= 2 ? stuck.promise : []
  })
  const rows = coalescedStatement<{ id: number }>('rows', 'select', { idsAt: 0, idColumn: 'id' })
  const readRow = (id: number) => sql(rows, [[id]])
  const first = [readRow(1)]
  await setImmediate()
  first.push(readRow(2))
  await setImmediate()

  expect(await Promise.all([readRow(3), readRow(4), readRow(3)])).toEqual([[], [], []])
  expect(runs).toEqual([[[1]], [[2]], [[3, 4]]])
  stuck.resolve([])
  await Promise.all(first)
})

test('no caller of a shared statement receives the rows of another', async () => {
  const runs: unknown[] = []
  const sql = coalesce(async <Row>(_: unknown, [ids = []]: readonly unknown[] = []) => {
    runs.push(ids)
    return [...(ids as number[])].reverse().map((id) => ({ id })) as Row[]
  })
  const rows = coalescedStatement<{ id: number }>('rows', 'select', { idsAt: 0, idColumn: 'id' })

  const answers = await Promise.all([[1, 2], [2, 3, 2], [4]].map((ids) => sql(rows, [ids])))

  expect(runs).toEqual([[1, 2, 3, 4]])
  expect(answers.map((found) => found.map(({ id }) => id))).toEqual([[1, 2], [2, 3], [4]])
})
