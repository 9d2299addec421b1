// @module-tag debian

import { expect, test, vi } from 'vitest'
import { limited, readLimitState, requestLimit, sendQuestion } from '../../kit/ai/limited-service.ts'
import { cloneDatabase } from '../../kit/database.ts'
import { startRelay } from '../../kit/parts/relay.ts'
import { queryRows } from '../../kit/postgres-client.ts'

const SLOW = { timeout: 60_000, interval: 100 }
const reserving = /reserve-usage/

test.for<[string, object[]]>([
  ['no limit applies', []],
  ['limits apply', [requestLimit]],
])("a call to which %s is not billed when its reservation's connection breaks", async ([, limits]) => {
  await using database = await cloneDatabase()
  const url = new URL(database.url)
  let isArmed = false
  await using relay = await startRelay(Number(url.port), {
    onSent(piece) {
      if (!isArmed || !reserving.test(piece.toString('latin1'))) return undefined
      isArmed = false
      relay.cut()
      return undefined
    },
  })
  url.host = `127.0.0.1:${relay.port}`
  await using world = await limited(limits, { env: { DATABASE_URL: url.href } })
  const { token } = await world.svc.user()
  expect((await sendQuestion(world.svc, token)).status).toBe(200)
  const holds = () => queryRows(database.url, 'select provider from usage_holds')
  await vi.waitFor(async () => expect(await holds()).toEqual([]), SLOW)

  // The database may read a statement some time after its connection broke.
  await queryRows(database.url, `alter table usage_holds alter created_at set default now() + interval '200 ms'`)
  isArmed = true
  expect((await sendQuestion(world.svc, token)).status).toBe(503)
  await vi.waitFor(async () => expect(await holds()).toEqual([{ provider: 'local' }]), SLOW)
  relay.mend()
  await vi.waitFor(async () => expect(await holds()).toEqual([]), SLOW)

  expect(world.provider.requests).toHaveLength(1)
  expect(await queryRows(database.url, 'select outcome from usage_records')).toEqual([{ outcome: 'completed' }])
  for (const { name } of limits as (typeof requestLimit)[])
    expect(await readLimitState(world.svc, name)).toMatchObject({ used: 1, held: 0 })
})
