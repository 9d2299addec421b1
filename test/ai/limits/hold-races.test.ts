import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { holdExactly } from '../../../entities/ai/usage-hold.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import type { Hold, HoldRequest } from '../../../routers/ports/ai/usage-ledger.ts'
import { createUsageLedger } from '../../../server/stores/usage-ledger.ts'
import { limited } from '../../kit/ai/limited.ts'
import { configFor, question, startProvider } from '../../kit/ai/provider.ts'
import { startApp } from '../../kit/app.ts'
import { openClient } from '../../kit/postgres-client.ts'
import { untilWaiting } from '../../kit/while-changing.ts'

test('a process that does not know the counters yet does not wait in a circle with one that does', async () => {
  await using provider = await startProvider()
  await using config = await configFor(provider.url)
  const settings = { AI_CONFIG: config.file, APP_KEY: randomBytes(32).toString('base64') }
  await using svc = await startApp(settings)
  const { token } = await svc.user()
  const ask = async (app = svc) => {
    const { status } = await app.send('POST', '/api/ai-req', { token, body: question() })
    await app.services.usageLedger.flush()
    return status
  }
  const limit = { cap: 100, unit: 'requests', per: 'month' }
  await svc.host.limits.set({ ...limit, name: 'first', for: 'user' } as never)
  await svc.host.limits.set({ ...limit, name: 'second', for: 'user' } as never)
  await ask()
  // As when a period of the first limit begins: its counter is a newer row than that of the second.
  await svc.rows('delete from usage_counters where limit_id = (select min(id) from usage_limits)')
  await ask()
  const [second, first] = await svc.rows<{ id: string }>('select id from usage_counters order by id')
  await svc.host.limits.set({ ...limit, name: 'third', for: 'token' } as never)
  await using other = await startApp({ ...settings, DATABASE_URL: svc.env.DATABASE_URL as string })

  await using client = await openClient(svc.env.DATABASE_URL)
  const lock = (id = '') => client.query('select from usage_counters where id = $1 for update', [id])
  await client.query('begin')
  await lock(second?.id)
  const asked = ask(other)
  await untilWaiting(svc.env.DATABASE_URL)
  await lock(first?.id)
  await client.query('commit')

  expect(await asked).toBe(200)
})

test('a call that is held keeps its hold where the catalogue changes before the next one of its batch is', async () => {
  await using kit = await limited([{ name: 'all', for: 'installation', cap: 100, unit: 'tokens', per: 'month' }])
  const { svc } = kit
  const { sql, log } = svc.services
  const { id: userId } = await svc.user()
  let exact = 0
  const changing: Sql = async (statement, values) => {
    const rows = await sql(statement, values)
    const [row] = rows as { ids?: number[] | null }[]
    if (statement.name === holdExactly.name && row?.ids && exact++ === 0) await svc.changeCatalogue('select 1')
    return rows
  }
  await using ledger = Object.assign(createUsageLedger({ sql: changing, log: log as never, onReached: () => {} }), {
    [Symbol.asyncDispose]: () => ledger.close(),
  })
  const [version] = await svc.rows<{ seq: number }>(
    "select seq::float8 as seq from change_streams where stream = 'all'",
  )
  const request = (requestId: string, tokens: number, catalogue: number | null): HoldRequest => ({
    ...{ catalogue, tokens, costMicros: null, currency: null, subjects: [['installation', '']] },
    call: {
      ...{ userId, tokenId: null, roomId: null, appId: null, context: 'private', provider: 'local', model: 'mock-1' },
      ...{ requestId, inputTokens: 1, costMicros: null, currency: null, priceId: null },
    },
  })
  await ledger.release((await ledger.hold(request('first', 1, null))) as Hold)

  const seen = version?.seq ?? 0
  const [one, other] = await Promise.allSettled(['one', 'other'].map((name) => ledger.hold(request(name, 60, seen))))

  expect(other).toMatchObject({ status: 'rejected', reason: { name: 'CatalogueChanged' } })
  expect(one).toMatchObject({ status: 'fulfilled', value: { held: { tokens: 60 } } })
  await ledger.release((one as PromiseFulfilledResult<Hold>).value)
  expect(await svc.rows('select request_id from usage_holds')).toEqual([])
})
