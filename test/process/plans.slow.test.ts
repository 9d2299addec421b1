// @module-tag debian

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { UsageRecord } from '../../entities/ai/usage-record.ts'
import { oldestUsageDay, rollUpUsage, summariseUsage } from '../../entities/ai/usage-report.sql.ts'
import { listRecordedCalls } from '../../entities/ai/usage-simulation.sql.ts'
import { findTag, listTagPage } from '../../entities/assistants/assistant-members.sql.ts'
import type { Statement } from '../../entities/sql/statement.ts'
import { callsByHour, selectModelQuality } from '../../entities/views/overview.sql.ts'
import { selectUsageBy, selectUsagePage, usageGroupings } from '../../entities/views/usage-by.sql.ts'
import { resources } from '../../routers/index.ts'
import { createCatalogue } from '../../routers/resource/catalogue.ts'
import { attribute, defineResource } from '../../routers/resource/declare.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { catalogue, metadata } from '../kit/catalogue.ts'
import { withAssistants } from '../kit/json-api/assistants.ts'
import { addCatalogue, startJsonApi } from '../kit/json-api/client.ts'

// Hundreds of thousands of rows are read repeatedly on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

/** Adds 200,000 calls of a hundred people in two hundred days. */
async function fillUsage({ rows }: TestApp) {
  await rows(
    `insert into users (username, email, name) select 'u' || n, 'u' || n || '@example.org', 'U' from generate_series(1, 100) n`,
  )
  await rows(
    `insert into usage_records (created_at, user_id, context, provider, model, outcome, duration_ms, request_id)
     select timestamptz '2026-01-01' + n % 200 * interval '1 day', u.id, 'api', 'p', 'm', 'completed', 1, 'r'
       from generate_series(1, 2000) n, users u where u.username like 'u%'`,
  )
  await rows('analyze usage_records')
}

/** Number of sequential scans of the table and of scans of an index so far. */
async function scansOf({ rows }: TestApp) {
  // Each of the two connections reports its own, which it would do seconds later.
  const report = () => rows('select pg_stat_force_next_flush(), pg_sleep(0.3)')
  await Promise.all([report(), report()])
  const [scans] = await rows<{ whole: number; index: number }>(
    `select seq_scan::int as whole, idx_scan::int as index from pg_stat_user_tables where relname = 'usage_records'`,
  )
  return scans ?? { whole: 0, index: 0 }
}

const DAY = { from: '2026-02-03', to: '2026-02-03' }
const ALL = { from: '2026-01-01', to: '2026-12-31' }

describe('a statement over a table that grows without bound', () => {
  let svc: TestApp
  beforeAll(async () => {
    svc = await startApp({ DATABASE_POOL: '2' })
    await fillUsage(svc)
  })
  afterAll(() => svc[Symbol.asyncDispose]())

  test('a statement over a growing table is planned with its values every time', async () => {
    for (let round = 0; round < 12; round++) await svc.host.usage.report(ALL)
    await expect.poll(async () => (await scansOf(svc)).whole).toBeGreaterThanOrEqual(12)
    const before = await scansOf(svc)

    for (let round = 0; round < 12; round++) await svc.host.usage.report(DAY)
    await expect.poll(() => scansOf(svc)).toEqual({ whole: before.whole, index: before.index + 12 })
    for (let round = 0; round < 12; round++) await svc.host.usage.report(ALL)
    await expect.poll(async () => (await scansOf(svc)).whole).toBeGreaterThanOrEqual(before.whole + 12)
  })

  test('of a report reads only the requested days, as rows or as sums', async () => {
    const reports: [Statement<unknown>, unknown[]][] = [
      ...usageGroupings.map((by): [Statement<unknown>, unknown[]] => [selectUsageBy(by), [DAY.from, DAY.to]]),
      ...usageGroupings.map((by): [Statement<unknown>, unknown[]] => [selectUsagePage(by), [DAY.from, DAY.to, 100, 0]]),
      [selectModelQuality('slowest'), [7]],
      [callsByHour, [24]],
      [summariseUsage, [2, ALL.from, ALL.to]],
      [listRecordedCalls, [DAY.from, DAY.to, ['day', 'week'], ['UTC', 'Europe/Berlin']]],
      [rollUpUsage, [DAY.from]],
      [oldestUsageDay, [DAY.from]],
    ]
    await svc.rows(`insert into usage_rollups (day, user_id, context, provider, model, outcome, requests, estimated, unpriced,
        input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens)
      select date '2023-01-01' + n % 500, u.id, 'api', 'p', 'm', 'completed', 1, 0, 0, 1, 1, 0, 0, 0
        from generate_series(1, 500) n, users u where u.username like 'u%'`)
    await svc.rows('analyze usage_rollups')

    for (const [{ text }, values] of reports) {
      const lines = await svc.rows<{ 'QUERY PLAN': string }>(`explain (costs off) ${text}`, values)
      expect(lines.map((line) => line['QUERY PLAN']).join('\n')).not.toMatch(/Seq Scan on usage_/)
    }
  })

  test('walks the index to the newest of a declared type without a sort', async () => {
    const type = 'usage-records'
    const records = defineResource({
      type,
      about: 'Calls of models.',
      entity: UsageRecord,
      attributes: { createdAt: attribute(z.string(), { sort: true }) },
      page: { size: 50, max: 200 },
    })
    const shape = { isUnrestricted: true, sort: ['-createdAt'], filters: [] }
    const { statement, values } = createCatalogue([records], metadata).statementsOf(type).page(shape)
    const given = values({ limit: 50, offset: 0 })
    const run = () => svc.services.sql(statement, given)
    // Both connections of the pool run it.
    for (let round = 0; round < 12; round++)
      for (const rows of await Promise.all([run(), run()])) expect(rows).toHaveLength(50)

    const plan = await explainPlan(svc, statement.name, given)

    expect(plan).toContain('Index Scan Backward using usage_records_created_at_index')
    expect(plan).not.toMatch(/-> +Sort$/m)
  })
})

/** Returns the plan that the next call of a named statement would use. */
async function explainPlan({ rows }: TestApp, name: string, values: readonly unknown[]): Promise<string> {
  const call = `explain (costs off) execute "${name}" (${values.join()})`
  const lines = await rows<{ 'QUERY PLAN': string }>(call)
  return lines.map((line) => line['QUERY PLAN']).join('\n')
}

test('a statement of the catalogue is planned once in each connection, whatever its values', async () => {
  await using svc = await startJsonApi({ DATABASE_POOL: '2' })
  const { model } = await addCatalogue(svc)
  for (const path of [`/ai-models/${model.external}?include=provider,tools`, '/ai-models', '/ai-tools'])
    for (let round = 0; round < 40; round++) expect((await svc.ada.get(path)).status).toBe(200)
  const look = () =>
    svc.rows<{ statement: string; custom: number; generic: number }>(
      `select statement, custom_plans::int as custom, generic_plans::int as generic
           from pg_prepared_statements, pg_sleep(0.3) where statement like '%(select $%'`,
    )

  const kept = (await Promise.all([look(), look()])).flat()

  // PostgreSQL tries five plans before it keeps one.
  for (const { statement, custom } of kept) expect([statement, custom <= 5]).toEqual([statement, true])
  expect(kept.filter(({ generic }) => generic > 10).length).toBeGreaterThan(2)
})

test('a page of 1,000 models scans the list once, and formats its own rows', async () => {
  await using svc = await startJsonApi()
  await svc.rows(
    `insert into ai_providers (id, provider_id, adapter, name) select n, 'p' || n, 'demo', 'P' || n from generate_series(101, 105) n`,
  )
  await svc.rows(
    `insert into ai_models (id, provider_id, model_id, label) select n, 101 + n % 5, 'm' || n, 'M' || n from generate_series(1001, 2000) n`,
  )
  await svc.rows(
    `insert into ai_model_usage_rules (model_id, usage_type) select id, unnest(array['main', 'external']) from ai_models`,
  )
  await svc.rows('analyze ai_providers, ai_models, ai_model_usage_rules')
  const shape = { isUnrestricted: false, sort: ['-label'], filters: [] }
  const { statement, values } = createCatalogue(resources, metadata).statementsOf('ai-models').page(shape)
  const given = values({ usage: 'external', ids: Array.from({ length: 20 }, (_, at) => 501 + at) })

  const explain = `explain (analyze, costs off, timing off, buffers off) ${statement.text}`
  const lines = (await svc.rows<{ 'QUERY PLAN': string }>(explain, given)).map((line) => line['QUERY PLAN'])

  const plan = lines.join('\n')
  expect(plan.match(/Scan on ai_models /g)).toHaveLength(1)
  expect(plan).toMatch(/Index Scan using ai_models_pkey on ai_models t \(actual rows=1(?:\.00)? loops=20\)/)
  // The output of a model is formatted below the plan nodes of the statement's own parts.
  const loops = lines
    .slice(lines.findIndex((line) => line.includes('SubPlan')))
    .map((line) => /loops=(\d+)/.exec(line)?.[1])
  expect(new Set(loops.filter((count) => count !== undefined))).toEqual(new Set(['20']))
})

test('pages of assistants look nothing up for each assistant of others', async () => {
  await using svc = await startApp(withAssistants)
  const { id } = await svc.user()
  await svc.rows(
    `insert into users (username, email, name, groups)
     select 'u' || n, 'u' || n || '@example.org', 'U', array['g' || n % 50] from generate_series(1, 2000) n`,
  )
  await svc.rows(
    `insert into assistants (handle, owner_id, audience, groups, published, latest)
     select 'h' || u.id || '-' || n, u.id, case when u.id % 10 > 0 then 'private' when u.id % 20 > 0 then 'groups' else 'all' end,
            u.groups, case when n > 1 then 1 end, 2
       from users u, generate_series(1, 4) n where u.username like 'u%'`,
  )
  await svc.rows(
    `insert into assistants (handle, owner_id, latest) select 'own' || n, $1, 2 from generate_series(1, 5) n`,
    [id],
  )
  await svc.rows(
    `insert into assistant_versions (assistant_id, number, name, description, model, texts)
     select a.id, n, 'N', 'D', 'm', repeat(md5(a.handle), 60) from assistants a, generate_series(1, 4) n`,
  )
  await svc.rows(
    `insert into assistant_editors (assistant_id, user_id) select id, owner_id + 1 from assistants where owner_id + 1 in (select id from users)`,
  )
  await svc.rows('analyze')

  const shape = { isUnrestricted: false, sort: [], filters: [] }
  const [ofAssistants, ofVersions] = [
    catalogue.statementsOf('assistants'),
    catalogue.statementsOf('assistant-versions'),
  ]
  const compiled = [
    ofAssistants.page(shape),
    ofAssistants.byIds(false),
    ofVersions.page(shape),
    ofVersions.byIds(false),
    ofVersions.relatedPage(catalogue.of('assistants'), 'assistantVersions', shape),
  ]
  const read = { viewer: id, usage: 'main', limit: 50, offset: 0, ids: [1, 2, 3] } as const
  const statements: [text: string, values: unknown[]][] = [
    ...compiled.map(({ statement, values }): [string, unknown[]] => [statement.text, values(read)]),
    [findTag.text, [id, [], 'word']],
    [listTagPage.text, [id, [], 200, 0]],
  ]
  for (const [text, values] of statements) {
    const explain = `explain (analyze, costs off, timing off, buffers off) ${text}`
    const lines = (await svc.rows<{ 'QUERY PLAN': string }>(explain, values)).map((line) => line['QUERY PLAN'])
    expect(lines.join('\n')).not.toMatch(/Seq Scan on (?:users|assistant_versions|assistant_editors)/)
    // The most is one for each row of the page.
    const lookUps = lines.filter((line) => /Scan .*on (?:users|assistant_editors)/.test(line))
    expect(lookUps.filter((line) => Number(/loops=(\d+)/.exec(line)?.[1]) > 50)).toEqual([])
  }
})
