import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { AllowedRuns } from '../../routers/ai/approvals/allowed-runs.ts'
import type { RunOnce } from '../../routers/ports/ai/approvals.ts'

const calls = ['1', '2', '3', '4', '5'].map((id) => ({ type: 'tool-call' as const, id, name: 'send', input: '{}' }))
const empty = (id: string) => ({ type: 'tool-result' as const, id, name: 'send', content: [], isError: true })

test('where it cannot be known whether a call is allowed, none is begun any more, and all that ran are told', async () => {
  const ran: string[] = []
  const approval = {
    server: 'mail',
    async runOnce(_: object, id: string, { run }: RunOnce) {
      ran.push(id)
      await pause(id === '2' ? 5 : 30)
      if (id === '2') throw new Error('The store is away.')
      return run()
    },
    question: async () => undefined,
  }
  const tool = { name: 'send', description: '', input: z.object({}), approval, run: () => 'sent' }
  const allowed = new Map(calls.map((call) => [empty(call.id), { call, mayAsk: true }]))
  const runs = new AllowedRuns()
  const signal = AbortSignal.timeout(10_000)
  const settling = runs.run(allowed, [tool], { messages: [], toolsAtOnce: 3, signal })
  const told: unknown[] = []

  for await (const parts of runs.until(settling)) told.push(...parts)

  await expect(settling).rejects.toThrow('The store is away.')
  await pause(100)
  expect(ran).toEqual(['1', '2', '3'])
  expect(told).toMatchObject([
    { type: 'tool-start', id: '1' },
    { id: '1', output: 'sent' },
    { type: 'tool-start', id: '3' },
    { id: '3', output: 'sent' },
  ])
})
