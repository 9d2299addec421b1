import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { connect } from '../../server/database/database.ts'
import { migrate } from '../../server/database/migrate.ts'
import { emptyDatabase } from '../kit/database.ts'

const svc = { name: 'svc', username: 'svc' }
const folder = fileURLToPath(new URL('../../entities/migrations', import.meta.url))
const files = (await readdir(folder)).filter((name) => name.endsWith('.ts')).map((name) => name.replace('.ts', ''))

async function emptyConnection() {
  const stack = new AsyncDisposableStack()
  const { url } = stack.use(await emptyDatabase())
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

  test('the migrations leave the AI user as it was made, and the next user the next id', async () => {
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
})
