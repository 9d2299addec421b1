import { expect, test } from 'vitest'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'

test('a failed lazy value is loaded again by the next call, then kept', async () => {
  let calls = 0
  const load = lazyPromise(async () => {
    calls++
    if (calls === 1) throw new Error('the volume is not mounted yet')
    return calls
  })

  await expect(load()).rejects.toThrow('not mounted')
  expect(await load()).toBe(2)
  expect(await load()).toBe(2)
})
