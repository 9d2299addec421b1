import { expect, test } from 'vitest'
import { startInterval } from '../../server/stores/interval.ts'
import { recordLog } from '../kit/log.ts'

test('a repeated task logs only the first failure of a series', async () => {
  const log = recordLog()
  const outcomes = ['fails', 'fails', 'succeeds', 'fails']
  let runs = 0
  const run = async () => {
    if ((outcomes[runs++] ?? 'succeeds') === 'fails') throw new Error('out of order')
  }
  const stop = startInterval(run, { period: 1, log, failure: 'the task failed' })
  await expect.poll(() => runs).toBeGreaterThan(outcomes.length)
  stop()

  expect(log.lines.map((line) => JSON.parse(line).msg)).toEqual(['the task failed', 'the task failed'])
})

test('a repeated task never runs twice at once, and logs nothing once stopped', async () => {
  const log = recordLog()
  const { promise, reject } = Promise.withResolvers<void>()
  let runs = 0
  const run = () => {
    runs++
    return promise
  }
  const stop = startInterval(run, { period: 1, log, failure: 'the task failed' })
  await expect.poll(() => runs).toBe(1)
  // Several periods pass, while the first run is not over.
  for (let timers = 0; timers < 5; timers++) await new Promise((done) => setTimeout(done, 2))
  stop()
  reject(new Error('closed'))
  await promise.catch(() => {})

  expect([runs, log.lines]).toEqual([1, []])
})
