// @module-tag debian

import { describe, expect, inject, test } from 'vitest'
import { createChangeBus } from '../../server/stores/change-bus.ts'
import { createKeyValue } from '../../server/stores/key-value.ts'
import { redisDatabaseUrl } from '../kit/parts/redis.ts'
import { openPusher } from '../kit/realtime/pusher.ts'
import { createChannel } from '../kit/realtime/replicas.ts'
import { startRooms } from '../kit/rooms/rooms.ts'

const log = { info() {}, warn() {}, error() {} }

describe.skipIf(!inject('redisUrl'))('a replica that was killed', () => {
  test('leaves nobody behind who would be shown as here', async () => {
    const url = redisDatabaseUrl(10)
    await using svc = await startRooms({ REDIS_URL: url })
    const room = await createChannel(svc)
    const name = `presence-Rooms.${room.slug}`
    using client = openPusher(svc.url, { token: svc.people.ada.token })
    await client.subscribe(name)
    const bus = await createChangeBus({ url }, log)
    const { kv, close } = await createKeyValue({ url })

    // State that a replica wrote before it died; its heartbeat still counts for a moment.
    const replica = crypto.randomUUID()
    await kv.set(`presence:${name}:${replica}`, JSON.stringify([['77', { name: 'Ghost', username: 'ghost' }]]), 60_000)
    const stats = { connections: 1, people: 1, channels: 1, subscriptions: 0, behind: 0, lagMs: 0 }
    const added = async () => {
      await kv.set(`replica:${replica}`, '1', 4000)
      bus.broadcast('replica', { replica, ...stats })
      return client.dataOf('pusher:member_added')
    }
    await expect.poll(added).toMatchObject([{ id: '77' }])
    await client.until('pusher:member_removed', 1)

    expect(client.pusher.channel(name)).toMatchObject({ members: { count: 1 } })
    await Promise.all([bus.close(), close()])
  })
})
