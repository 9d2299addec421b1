// @module-tag debian

import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Migrator } from '@mikro-orm/migrations'
import { describe, expect, test } from 'vitest'
import { connect } from '../../server/database/database.ts'
import { migrate } from '../../server/database/migrate.ts'
import { createEmptyDatabase } from '../kit/database.ts'
import { waitForLocks } from '../kit/locks.ts'
import { openClient } from '../kit/postgres-client.ts'

const svc = { name: 'svc', username: 'svc' }
const folder = fileURLToPath(new URL('../../entities/migrations', import.meta.url))
const files = (await readdir(folder)).filter((name) => name.endsWith('.ts')).map((name) => name.replace('.ts', ''))

async function emptyConnection() {
  const stack = new AsyncDisposableStack()
  const { url } = stack.use(await createEmptyDatabase())
  const open = async () => {
    const database = await connect({ url, poolSize: 2 })
    stack.defer(() => database.close())
    return database
  }
  return { url, open, database: await open(), [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

const rows = async <Row>(sql: string, { pool }: Awaited<ReturnType<typeof connect>>) =>
  (await pool.query(sql)).rows as Row[]

const schema = `select table_name, column_name, data_type, is_nullable, column_default from information_schema.columns
                 where table_schema = 'public' order by 1, 2`

describe('the migrations', () => {
  test('the migrations make exactly the schema that the entities declare', async () => {
    await using empty = await emptyConnection()

    const applied = await migrate(empty.database, empty.url, svc)

    expect(applied.toSorted()).toEqual(files.toSorted())
    expect(await empty.database.orm.migrator.checkSchema()).toBe(false)
    expect(await empty.database.orm.schema.getUpdateSchemaSQL()).toBe('')
  })

  test('change nothing the second time', async () => {
    await using empty = await emptyConnection()
    await migrate(empty.database, empty.url, svc)
    const before = await rows(schema, empty.database)

    const again = await migrate(empty.database, empty.url, { name: 'Other', username: 'other' })

    expect(again).toEqual([])
    expect(await rows(schema, empty.database)).toEqual(before)
    expect(before.length).toBeGreaterThan(0)
  })

  test('the migrations take turns when several replicas start at once', async () => {
    await using empty = await emptyConnection()
    const replicas = [empty.database, await empty.open(), await empty.open()]

    const outcomes = await Promise.all(replicas.map((replica) => migrate(replica, empty.url, svc)))

    expect(outcomes.map(({ length }) => length).toSorted((a, b) => a - b)).toEqual([0, 0, files.length])
    expect(await rows('select id from users', empty.database)).toEqual([{ id: 1 }])
  })

  test('the migrations keep the AI user, and ids continue after it', async () => {
    await using empty = await emptyConnection()
    await migrate(empty.database, empty.url, { name: 'Ada', username: 'ai' })
    await migrate(empty.database, empty.url, { name: 'Bob', username: 'bot' })

    expect(await rows('select id, name, username from users', empty.database)).toEqual([
      { id: 1, name: 'Ada', username: 'ai' },
    ])
    expect(await rows(`select nextval('users_id_seq')::int as id`, empty.database)).toEqual([{ id: 2 }])
  })

  test('the migrations that fail leave nothing half done, and let the next try', async () => {
    await using empty = await emptyConnection()
    await rows('create table usage_records (id int)', empty.database)

    await expect(migrate(empty.database, empty.url, svc)).rejects.toThrow()
    const left = await rows<{ table_name: string }>(
      `select table_name from information_schema.tables where table_schema = 'public'`,
      empty.database,
    )
    await rows('drop table usage_records', empty.database)
    const applied = await migrate(empty.database, empty.url, svc)

    expect(left.map(({ table_name }) => table_name)).not.toContain('users')
    expect(applied).toHaveLength(files.length)
  })

  test("the migrations merge a limit's usage of a period into one counter", async () => {
    await using empty = await emptyConnection()
    const { database } = empty
    await new Migrator(database.orm.em).up({ to: 'Migration20261125233134' })
    await rows(
      `insert into usage_limits (id, name, subject, unit, period, time_zone, cap, stripes)
       values (1, 'all', 'installation', 'requests', 'month', 'UTC', 100, 4), (2, 'each', 'user', 'tokens', 'day', 'UTC', 9, 1);
       insert into usage_limit_versions (id, version) values (1, 7);
       insert into usage_counters (id, limit_id, subject_id, starts_at, ends_at, stripe, used, held, share, cap, topped_up, refused)
       select 10 + n, 1, '', timestamptz '2026-11-01', timestamptz '2026-12-01', n, 5, n, 25, 100, case n when 0 then 3 else 0 end, n from generate_series(0, 3) n
       union all select 20, 2, '7', '2026-11-01', '2026-11-02', 0, 4, 2, 9, 9, 0, 0;
       insert into usage_notices (counter_id, percent) values (10, 80);
       insert into usage_holds (id, lease_until, context, provider, model, request_id, input_tokens, counters, amounts, measures)
       values (1, now(), 'api', 'p', 'm', 'r', 1, '{20,12,99}', '{2,1,1}', '{tokens,amount,amount}'), (2, now(), 'api', 'p', 'm', 's', 1, '{}', '{}', '{}')`,
      database,
    )

    await migrate(database, empty.url, svc)

    const counters =
      'select id::int, used::int, held::int, topped_up::int, refused::int from usage_counters order by id'
    expect(await rows(counters, database)).toEqual([
      { id: 10, used: 20, held: 6, topped_up: 3, refused: 6 },
      { id: 20, used: 4, held: 2, topped_up: 0, refused: 0 },
    ])
    expect(await rows('select counters::text from usage_holds order by id', database)).toEqual([
      { counters: '{20,10,99}' },
      { counters: '{}' },
    ])
    expect(await rows('select version from usage_limit_versions', database)).toEqual([{ version: 8 }])
  })
})

/** The newest migration of a version whose successor changes tables that requests use all the time. */
const BEFORE_CHANGES = 'Migration20261124023638'

/** A database of an earlier version, in which a request has a transaction open. */
async function openEarlier() {
  const stack = new AsyncDisposableStack()
  const { url, database } = stack.use(await emptyConnection())
  await new Migrator(database.orm.em).up({ to: BEFORE_CHANGES })
  const request = stack.use(await openClient(url))
  await request.query('begin')
  return { url, database, request, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

describe('an upgrade beside the version before', () => {
  test('a request that holds one table of an upgrade gets the others, too', async () => {
    await using earlier = await openEarlier()
    const { url, database, request } = earlier
    await request.query('lock table usage_holds in row exclusive mode')

    const upgrade = migrate(database, url, svc)
    await waitForLocks(url)
    await request.query('select from users for key share')
    await request.query('lock table usage_counters in row exclusive mode')
    await request.query('commit')

    expect(await upgrade).toHaveLength(files.filter((name) => name > BEFORE_CHANGES).length)
  })

  test('requests go on while a long transaction holds an upgrade up', async () => {
    await using earlier = await openEarlier()
    const { url, database, request } = earlier
    await request.query('lock table users in row share mode')
    const { promise: waiting, resolve: notify } = Promise.withResolvers<string>()

    const upgrade = migrate(database, url, svc, { notify })
    await waitForLocks(url)
    await using other = await openClient(url)
    await other.query(`set statement_timeout = '60s'`)
    await other.query('select from users')
    const sentence = await waiting
    await request.query('commit')

    expect(sentence).toContain('Migration20261125221434')
    expect(await upgrade).not.toEqual([])
  })

  test('an upgrade that never gets its tables fails with a sentence', async () => {
    await using earlier = await openEarlier()
    const { url, database, request } = earlier
    await request.query('lock table users in row share mode')

    await expect(migrate(database, url, svc, { patience: 0 })).rejects.toThrow('End long transactions')

    expect((await database.orm.migrator.getExecuted()).at(-1)?.name).toBe(BEFORE_CHANGES)
  })

  test('no migration takes away what the version before uses', async () => {
    const breaking = /drop (table|column)|rename |set not null|add (column )?"\w+" (?![^,;]*default)[^,;]*\bnot null/i
    const added = files.filter((name) => name > FIRST_UNDER_THE_RULE && !removals.has(name))
    const sources = await Promise.all(added.map((name) => readFile(join(folder, `${name}.ts`), 'utf8')))
    const broken = sources.filter((source) => breaking.test(source.slice(0, source.indexOf(' down('))))
    expect(broken).toEqual([])
  })
})

/** Older migrations were applied before the rule that one version adds, and a later one removes. */
const FIRST_UNDER_THE_RULE = 'Migration20261128'

/** Migrations that remove something, which the version before does not use any more. */
const removals: ReadonlySet<string> = new Set()
