import { expect, test } from 'vitest'
import { registerProgram, startOAuth } from '../kit/oauth/program.ts'

test('ten thousand registrations leave no row', async () => {
  await using svc = await startOAuth()
  const count = async () => (await svc.rows('select id from oauth_clients')).length
  const before = await count()

  for (let n = 0; n < 100; n++) await Promise.all(Array.from({ length: 100 }, () => registerProgram(svc)))

  expect(await count()).toBe(before)
})
