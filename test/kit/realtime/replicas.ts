import { inject } from 'vitest'
import { startApp } from '../app.ts'
import { APP_KEY } from '../identity/sessions.ts'
import { redisDatabaseUrl } from '../parts/redis.ts'
import { type RoomsApp, startRooms } from '../rooms/rooms.ts'

/** Two replicas in this process over one database and, where there is one, a database of Redis; else one that is both. */
export async function startPair(settings: Record<string, string> = {}, redisDatabase = 14) {
  await using resources = new AsyncDisposableStack()
  const redis = inject('redisUrl') ? { REDIS_URL: redisDatabaseUrl(redisDatabase) } : undefined
  const shared = { APP_KEY, ...redis, ...settings }
  const svc = resources.use(await startRooms(shared))
  const other = redis ? resources.use(await startApp({ ...shared, DATABASE_URL: String(svc.env.DATABASE_URL) })) : svc
  const disposables = resources.move()
  return { svc, urls: [svc.url, other.url], other, [Symbol.asyncDispose]: () => disposables.disposeAsync() }
}

export type Pair = Awaited<ReturnType<typeof startPair>>

/** A room of `ada` with its channel. */
export async function createChannel({ ada }: Pick<RoomsApp, 'ada'>) {
  const { one } = await ada.create('rooms', { name: 'Chess' })
  const slug = String(one.attributes['slug'])
  return { id: one.id, slug, channel: `private-Rooms.${slug}` }
}
