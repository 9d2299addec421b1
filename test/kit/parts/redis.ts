import { Redis } from 'ioredis'
import { inject } from 'vitest'

/** A database of the shared Redis for one test file alone, by a number of its own. */
export const ownDatabase = (number: number) => `${inject('redisUrl')}/${number}`

/** Leaves nothing in a database of Redis. */
export async function emptyOut(url: string): Promise<void> {
  const redis = new Redis(url)
  await redis.flushdb().finally(() => redis.disconnect())
}

/** Records every command that Redis is given. */
export async function watchRedis(url: string) {
  const redis = new Redis(url)
  const monitor = await redis.monitor()
  const commands: string[] = []
  monitor.on('monitor', (_, command: string[]) => commands.push(command.join(' ')))
  return {
    commands,
    [Symbol.dispose]() {
      monitor.disconnect()
      redis.disconnect()
    },
  }
}
