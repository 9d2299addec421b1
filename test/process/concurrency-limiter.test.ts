import { EventEmitter } from 'node:events'
import type { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { createRedisConcurrencyLimiter } from '../../server/stores/concurrency-limiter.ts'

/** A Redis whose writes the test completes or breaks off. */
class PausedRedis extends EventEmitter {
  readonly options = {}
  readonly writes: { count: number; write: PromiseWithResolvers<void> }[] = []

  async eval() {
    return 1
  }

  hdel() {
    return this.#write(0)
  }

  multi() {
    let count = 0
    const commands = {
      hset: (_name: string, _replica: string, newCount: number) => {
        count = newCount
        return commands
      },
      pexpire: () => commands,
      exec: () => this.#write(count),
    }
    return commands
  }

  #write(count: number): Promise<void> {
    const write = Promise.withResolvers<void>()
    this.writes.push({ count, write })
    return write.promise
  }
}

test('a count whose last write failed is written again after a reconnect', async () => {
  const redis = new PausedRedis()
  const limiter = createRedisConcurrencyLimiter({
    redis: redis as unknown as Redis,
    waitForConnection: async () => {},
    replica: 'one',
  })
  await limiter.acquire('person', 2)
  await limiter.acquire('person', 2)
  limiter.release('person')
  limiter.release('person')
  const [first, last] = redis.writes

  first?.write.resolve()
  last?.write.reject(new Error('Connection is closed.'))
  await new Promise(setImmediate)
  redis.emit('ready')

  expect(redis.writes.map(({ count }) => count)).toEqual([1, 0, 0])
  limiter.close()
})
