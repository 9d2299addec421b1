import { expect, test } from 'vitest'
import { limited, readLimitState, requestLimit, sendQuestion } from '../../kit/ai/limited-service.ts'
import { answers, behavesInTurn } from '../../kit/ai/provider.ts'

test('a limit overdrawn by a single call refuses further calls by every counter', async () => {
  const tokens = { ...requestLimit, unit: 'tokens', cap: 14_000 }
  await using world = await limited([tokens], { env: { LIMITS_MAX_OUTPUT_TOKENS: '100' } })
  const huge = { prompt_tokens: 50_000, completion_tokens: 1, total_tokens: 50_001 }
  world.provider.behave = behavesInTurn(answers('Much was read.', undefined, huge), answers('Good day.'))
  const { token } = await world.svc.user()

  // The question is that long, as counts above the number of sent bytes are cut.
  const first = await sendQuestion(world.svc, token, 'word '.repeat(10_000))
  await world.svc.services.ai.usageLedger.flush()
  const others: number[] = []
  for (let count = 0; count < 16; count++) others.push((await sendQuestion(world.svc, token)).status)

  expect([first.status, ...others]).toEqual([200, ...Array(16).fill(429)])
  expect(world.provider.requests).toHaveLength(1)
  expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 50_001, held: 0 })

  await world.svc.host.limits.topUp({ name: 'all', amount: 36_500 })
  const again = await Promise.all(Array.from({ length: 4 }, () => sendQuestion(world.svc, token)))
  expect(again.map(({ status }) => status)).toEqual([200, 200, 200, 200])
  expect(await readLimitState(world.svc, 'all')).toMatchObject({ used: 50_041, held: 0 })
})
