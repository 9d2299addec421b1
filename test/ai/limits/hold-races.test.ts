import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { holdExactly } from '../../../entities/ai/usage-hold.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import type { Hold, HoldRequest } from '../../../routers/ports/ai/usage-ledger.ts'
import { createUsageLedger } from '../../../server/stores/usage-ledger.ts'
import { shareLimited } from '../../kit/ai/limited.ts'
import { configFor, question, startProvider } from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { openClient } from '../../kit/postgres-client.ts'
import { untilWaiting } from '../../kit/while-changing.ts'

const limited = shareLimited()

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

/** As a call ends that took nothing. */
const nothing = {
  ...{ inputTokens: 0, outputTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  ...{ webSearches: 0, webFetches: 0, estimated: false, costMicros: null, currency: null, durationMs: 0 },
}

/** An account that runs its statements by `sql`, and calls to hold for in it. */
async function accountOf(svc: TestApp, sql: Sql) {
  const { log } = svc.services
  const { id: userId } = await svc.user()
  const ledger = createUsageLedger({ sql, log: log as never, onReached: () => {} })
  const request = (requestId: string, how: Pick<HoldRequest, 'tokens' | 'catalogue' | 'subjects'>): HoldRequest => ({
    ...{ costMicros: null, currency: null, callerVersion: null, ...how },
    call: {
      ...{ userId, tokenId: null, roomId: null, appId: null, context: 'private', provider: 'local', model: 'mock-1' },
      ...{ requestId, inputTokens: 1, costMicros: null, currency: null, priceId: null },
    },
  })
  const release = (held: Hold) => {
    ledger.settle(held, { ...nothing, outcome: 'aborted' })
    return ledger.flush()
  }
  return Object.assign(ledger, { request, release, [Symbol.asyncDispose]: () => ledger.close() })
}

const all = [['installation', '']] as const

test('a call that is held keeps its hold where the catalogue changes before the next one of its batch is', async () => {
  await using kit = await limited([{ name: 'all', for: 'installation', cap: 100, unit: 'tokens', per: 'month' }])
  const { svc } = kit
  let exact = 0
  await using ledger = await accountOf(svc, async (statement, values) => {
    const rows = await svc.services.sql(statement, values)
    const [row] = rows as { ids?: number[] | null }[]
    if (statement.name === holdExactly.name && row?.ids && exact++ === 0) await svc.changeCatalogue('select 1')
    return rows
  })
  const [version] = await svc.rows<{ seq: number }>(
    "select seq::float8 as seq from change_streams where stream = 'all'",
  )
  const first = ledger.request('first', { tokens: 1, catalogue: null, subjects: all })
  await ledger.release((await ledger.hold(first)) as Hold)

  const how = { tokens: 60, catalogue: version?.seq ?? 0, subjects: all }
  const [one, other] = await Promise.allSettled(['one', 'other'].map((name) => ledger.hold(ledger.request(name, how))))

  expect(other).toMatchObject({ status: 'rejected', reason: { name: 'Outdated' } })
  expect(one).toMatchObject({ status: 'fulfilled', value: { held: { tokens: 60 } } })
  await ledger.release((one as PromiseFulfilledResult<Hold>).value)
  expect(await svc.rows('select request_id from usage_holds')).toEqual([])
})

test.for([
  ['a limit', all],
  ['no limit', []],
] as const)(
  'a call whose caller was just looked up is held beside one whose caller has changed, where %s applies',
  async ([, subjects]) => {
    await using kit = await limited([{ name: 'all', for: 'installation', cap: 100, unit: 'tokens', per: 'month' }])
    const { svc } = kit
    await using ledger = await accountOf(svc, svc.services.sql)
    const { token } = await svc.user()
    const how = { tokens: 1, catalogue: null, subjects }
    const lookedUp = ledger.request('looked up', how)
    const seen = ledger.request('seen', how)
    await ledger.release((await ledger.hold(lookedUp)) as Hold)

    const changed = { ...seen, callerVersion: '0', call: { ...seen.call, tokenId: Number(token.split('_')[1]) } }
    const [other, one] = await Promise.allSettled([ledger.hold(changed), ledger.hold(lookedUp)])

    expect(other).toMatchObject({ status: 'rejected', reason: { name: 'Outdated' } })
    expect(one).toMatchObject({ status: 'fulfilled', value: { id: expect.any(Number) } })
    await ledger.release((one as PromiseFulfilledResult<Hold>).value)
  },
)

test('a call that fits does not wait for one that must be judged exactly', async () => {
  await using kit = await limited([{ name: 'each', for: 'user', cap: 100, unit: 'tokens', per: 'month' }])
  const { svc } = kit
  const judged = Promise.withResolvers<void>()
  await using ledger = await accountOf(svc, async (statement, values) => {
    if (statement.name === holdExactly.name) await judged.promise
    return svc.services.sql(statement, values)
  })
  const of = (user: string, tokens: number) =>
    ledger.request(user, { tokens, catalogue: null, subjects: [['user', user]] })
  for (const user of ['1', '2']) await ledger.release((await ledger.hold(of(user, 1))) as Hold)

  const refused = ledger.hold(of('1', 101))
  const held = (await ledger.hold(of('2', 50))) as Hold

  expect(held.held).toMatchObject({ tokens: 50 })
  judged.resolve()
  expect(await refused).toMatchObject({ limits: [{ name: 'each', fits: false }] })
  await ledger.release(held)
})

test('calls to which no limit applies take over the holds of others together, and wait for none that is judged exactly', async () => {
  await using kit = await limited([{ name: 'each', for: 'user', cap: 100, unit: 'tokens', per: 'month' }])
  const { svc } = kit
  const judged = Promise.withResolvers<void>()
  const seen: string[] = []
  await using ledger = await accountOf(svc, async (statement, values) => {
    seen.push(statement.name)
    if (statement.name === holdExactly.name) await judged.promise
    return svc.services.sql(statement, values)
  })
  const bounded = (tokens: number) => ledger.request('bounded', { tokens, catalogue: null, subjects: [['user', '1']] })
  const free = (name: string) => ledger.request(name, { tokens: 5, catalogue: null, subjects: [] })
  const names = Array.from({ length: 50 }, (_, at) => `call ${at}`)
  await ledger.release((await ledger.hold(bounded(1))) as Hold)
  const before = (await Promise.all(names.map((name) => ledger.hold(free(name))))) as Hold[]
  const gone = before.pop() as Hold
  await ledger.release(gone)
  const refused = ledger.hold(bounded(101))
  seen.length = 0

  const standIns = [...before, gone].map((instead, at) => {
    const { call, ...request } = free(`stand-in ${at}`)
    return { ...request, instead, call: { ...call, model: `model ${at}` } }
  })
  const after = await Promise.all(standIns.map((request) => ledger.hold(request)))

  expect(seen.filter((name) => name.startsWith('exchange'))).toEqual(['exchange-unlimited'])
  expect(after).toEqual([...before.map(({ id }) => expect.objectContaining({ id })), { limits: [] }])
  const rows = await svc.rows<{ id: string; model: string }>('select id, model from usage_holds order by id')
  const expected = before.map(({ id }, at) => [id, `model ${at}`] as const)
  expect(rows.map(({ id, model }) => [Number(id), model])).toEqual(expected.toSorted(([a], [b]) => a - b))
  judged.resolve()
  expect(await refused).toMatchObject({ limits: [{ name: 'each', fits: false }] })
  await Promise.all(after.map((held) => 'id' in held && ledger.release(held)))
})

test('a stand-in is judged by a limit that was set since the last call', async () => {
  await using kit = await limited([])
  const { svc } = kit
  await using ledger = await accountOf(svc, svc.services.sql)
  const of = (name: string) => ledger.request(name, { tokens: 5, catalogue: null, subjects: all })
  const before = (await ledger.hold(of('before'))) as Hold
  const limit = { name: 'all', for: 'installation', cap: 1, unit: 'tokens', per: 'month' }
  await svc.host.limits.set(limit as never)

  expect(await ledger.hold({ ...of('stand-in'), instead: before })).toMatchObject({ limits: [{ fits: false }] })
  await ledger.release(before)
})
