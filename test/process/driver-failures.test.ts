import { once } from 'node:events'
import { createServer } from 'node:net'
import pg from 'pg'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { isUnavailable, translateDatabaseError } from '../../routers/core/database-errors.ts'
import { runAdminStatement } from '../kit/database.ts'

/** Causes a failure of the driver and returns it. */
const catchError = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => {
      throw new Error('it did not fail')
    },
    (error: Error) => error,
  )

function openPool(options: pg.PoolConfig) {
  const pool = new pg.Pool({ connectionString: inject('postgresUrl'), ...options })
  pool.on('error', () => {})
  onTestFinished(() => (pool.ended ? undefined : pool.end()))
  return pool
}

async function openClient(options: pg.ClientConfig = {}) {
  const client = new pg.Client({ connectionString: inject('postgresUrl'), ...options })
  client.on('error', () => {})
  await client.connect()
  onTestFinished(() => client.end().catch(() => {}))
  return client
}

/** A server that accepts connections and never answers. */
async function silentPort(): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => {}))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return (server.address() as { port: number }).port
}

describe('a driver failure without a code counts as an unavailable database', () => {
  test('a connection that was ended while a statement ran', async () => {
    const client = await openClient()
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const failed = catchError(client.query('select pg_sleep(60)'))
    await runAdminStatement(`select pg_terminate_backend(${rows[0]?.pid})`)
    expect(isUnavailable(translateDatabaseError(await failed))).toBe(true)

    expect(isUnavailable(translateDatabaseError(await catchError(client.query('select 1'))))).toBe(true)
  })

  test('a pool that is closed', async () => {
    const pool = openPool({})
    await pool.end()
    expect(isUnavailable(translateDatabaseError(await catchError(pool.query('select 1'))))).toBe(true)
  })

  test('a pool without a free connection', async () => {
    const pool = openPool({ max: 1 })
    const client = await pool.connect()
    pool.options.connectionTimeoutMillis = 20
    expect(isUnavailable(translateDatabaseError(await catchError(pool.connect())))).toBe(true)
    client.release()
  })

  test('a server that does not answer a new connection', async () => {
    const at = { host: '127.0.0.1', port: await silentPort(), user: 'svc', connectionTimeoutMillis: 20 }
    const pool = new pg.Pool(at)
    pool.on('error', () => {})
    expect(isUnavailable(translateDatabaseError(await catchError(pool.connect())))).toBe(true)
    expect(isUnavailable(translateDatabaseError(await catchError(new pg.Client(at).connect())))).toBe(true)
    await pool.end()
  })

  test('a statement whose answer does not come', async () => {
    const client = await openClient({ query_timeout: 20 })
    expect(isUnavailable(translateDatabaseError(await catchError(client.query('select pg_sleep(60)'))))).toBe(true)
  })
})

test('an error of a statement itself is not told as unavailable', async () => {
  const client = await openClient()
  expect(isUnavailable(translateDatabaseError(await catchError(client.query('select 1 / 0'))))).toBe(false)
})
