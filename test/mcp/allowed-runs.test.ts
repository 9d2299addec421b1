import { expect, test } from 'vitest'
import { z } from 'zod'
import { ApprovedCallRunner } from '../../routers/ai/approvals/approved-calls.ts'
import type { FunctionTool, SingleRun } from '../../routers/ports/ai/tools.ts'

const calls = ['1', '2', '3', '4', '5'].map((id) => ({ type: 'tool-call' as const, id, name: 'send', input: '{}' }))
const empty = (id: string) => ({ type: 'tool-result' as const, id, name: 'send', content: [], isError: true })

test('no further call is started once approvals cannot be checked', async () => {
  const ran: string[] = []
  const isFailed = Promise.withResolvers<void>()
  const approval = {
    server: 'mail',
    async runOnce(_: object, id: string, { run }: SingleRun) {
      ran.push(id)
      if (id === '2') {
        setImmediate(isFailed.resolve)
        throw new Error('The store is away.')
      }
      await isFailed.promise
      return run()
    },
    question: async () => undefined,
  }
  const run: FunctionTool['run'] = (_input, _signal, begin) => {
    begin?.()
    return 'sent'
  }
  const tool = { name: 'send', description: '', input: z.object({}), approval, run }
  const allowed = new Map(calls.map((call) => [empty(call.id), { call, canAskAgain: true }]))
  const runs = new ApprovedCallRunner()
  const signal = AbortSignal.timeout(60_000)
  const settling = runs.run(allowed, [tool], { messages: [], toolsAtOnce: 3, signal })
  const streamed: unknown[] = []

  for await (const parts of runs.streamUntil(settling)) streamed.push(...parts)

  await expect(settling).rejects.toThrow('The store is away.')
  expect(ran).toEqual(['1', '2', '3'])
  expect(streamed).toMatchObject([
    { type: 'tool-start', id: '1' },
    { type: 'tool-start', id: '3' },
    { id: '1', output: 'sent' },
    { id: '3', output: 'sent' },
  ])
})
