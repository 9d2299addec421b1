import { expect, test } from 'vitest'
import { CALLBACK, registerProgram, startOAuth } from '../kit/oauth/program.ts'

test('ten thousand registrations leave no row', async () => {
  await using svc = await startOAuth()
  const tables = `select relname as name, pg_relation_size(oid)::int as size from pg_class
                   where relname like 'oauth%' and relkind = 'r' order by 1`
  const before = await svc.rows(tables)

  // Most of them skip HTTP, which would take most of the time.
  for (let n = 0; n < 95; n++)
    await Promise.all(Array.from({ length: 100 }, () => svc.host.oauth.register({ redirectUris: [CALLBACK] })))
  await Promise.all(Array.from({ length: 500 }, () => registerProgram(svc)))

  expect(await svc.rows(tables)).toEqual(before)
})
