// @module-tag debian

import { setTimeout as pause } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { TestApp } from '../kit/app.ts'
import { runCommand } from '../kit/command-line.ts'
import { readReplicaPart } from '../kit/health.ts'
import { openPusher } from '../kit/realtime/pusher.ts'
import { createChannel, type Pair, startPair } from '../kit/realtime/replicas.ts'
import { authorize, openSocket, subscribe } from '../kit/realtime/socket.ts'
import { RawSubscription } from '../kit/rooms/raw-subscription.ts'
import { joinRoom } from '../kit/rooms/rooms.ts'

let pair: Pair
beforeAll(async () => {
  // The counts include all replicas.
  pair = await startPair({}, 8)
})
afterAll(() => pair[Symbol.asyncDispose]())

const infoOf = (person: { name: string; username: string }) => ({ name: person.name, username: person.username })

/** Delays the next write of a channel's list until it is released. */
function holdBackWrite({ services }: TestApp, channel: string) {
  const { set } = services.stores.kv
  const [begun, released, written] = Array.from({ length: 3 }, () => Promise.withResolvers<void>())
  services.stores.kv.set = async (key, value, ttl) => {
    if (!key.includes(channel)) return set(key, value, ttl)
    services.stores.kv.set = set
    begun?.resolve()
    await released?.promise
    await set(key, value, ttl).then(written?.resolve)
  }
  const release = () => {
    released?.resolve()
    return written?.promise
  }
  return { begun: begun?.promise, release }
}

/** Reads a channel's lists of present people from Redis, one for each replica. */
async function listsOf({ env }: TestApp, channel: string): Promise<unknown[]> {
  const redis = new Redis(String(env.REDIS_URL))
  const keys = await redis.keys(`svc:presence:${channel}:*`)
  const lists = await Promise.all(keys.map((key) => redis.get(key)))
  redis.disconnect()
  return lists.map((list) => JSON.parse(String(list)))
}

describe('who is here', () => {
  test('is told to whoever comes, and each coming and going once for all replicas', async () => {
    const { svc, urls } = pair
    const { ada, bob, eve } = svc.people
    const room = await createChannel(svc)
    for (const person of ['bob', 'eve'] as const) await joinRoom(svc, room.id, person, 'viewer')
    const name = `presence-Rooms.${room.slug}`
    const members = (data: Record<string, unknown>) => Object.keys((data as { members: object }).members)
    using first = openPusher(urls[0] ?? '', { token: ada.token })
    using here = openPusher(urls[0] ?? '', { token: bob.token })
    using there = openPusher(urls[1] ?? '', { token: bob.token })
    using beside = openPusher(urls[1] ?? '', { token: eve.token })

    // The members are copied at once, as the library changes them with every event.
    const alone = members((await first.subscribe(name)).data)
    const second = members((await here.subscribe(name)).data)
    await there.subscribe(name)
    await beside.subscribe(name)
    // An event about her arrives after the list of present people.
    await first.until('pusher:member_added', 2)
    await expect.poll(() => there.pusher.channel(name)).toMatchObject({ members: { count: 3 } })
    here.pusher.unsubscribe(name)
    there.pusher.disconnect()
    await first.until('pusher:member_removed', 1)

    expect([alone, second]).toEqual([[`${ada.id}`], [`${ada.id}`, `${bob.id}`]])
    expect(first.dataOf('pusher:member_added')).toEqual(
      [bob, eve].map((one) => ({ id: `${one.id}`, info: infoOf(one) })),
    )
    expect(first.dataOf('pusher:member_removed')).toEqual([{ id: `${bob.id}`, info: infoOf(bob) }])
  })

  test('is told to somebody who leaves as the last and comes back at once', async () => {
    const { svc, urls } = pair
    const { ada } = svc.people
    const { slug } = await createChannel(svc)
    const channel = `presence-Rooms.${slug}`
    using socket = await openSocket(urls[0] ?? '')
    await subscribe(urls[0] ?? '', socket, ada.token, channel)
    const { body } = await authorize(urls[0] ?? '', ada.token, socket.id, channel)
    const successes = () => socket.frames.filter(({ event }) => event === 'pusher_internal:subscription_succeeded')

    for (let n = 2; n < 12; n++) {
      socket.send({ event: 'pusher:unsubscribe', data: { channel } })
      await pause(2 * n)
      socket.send({ event: 'pusher:subscribe', data: { ...body, channel } })
      await expect.poll(() => successes().length, { interval: 5 }).toBe(n)
    }

    const ids = successes().map(({ data }) => (data as { presence: { ids: string[] } }).presence.ids)
    expect(ids).toEqual(ids.map(() => [`${ada.id}`]))
  })

  test.skipIf(!inject('redisUrl'))('is not brought back by a write that was under way as they left', async () => {
    const { svc, urls } = pair
    const { ada, bob } = svc.people
    const room = await createChannel(svc)
    await joinRoom(svc, room.id, 'bob', 'viewer')
    const name = `presence-Rooms.${room.slug}`
    using there = openPusher(urls[1] ?? '', { token: bob.token })
    await there.subscribe(name)
    const held = holdBackWrite(svc, name)
    using here = openPusher(urls[0] ?? '', { token: ada.token })
    await here.subscribe(name)
    await held.begun

    here.pusher.disconnect()
    await expect.poll(() => readReplicaPart(svc, 'realtime')).toMatch(/^0 connections/)
    // A list is written no earlier than an earlier list of another channel, unless it waits for its predecessor.
    const other = `presence-Rooms.${(await createChannel(svc)).slug}`
    using elsewhere = openPusher(urls[0] ?? '', { token: ada.token })
    await elsewhere.subscribe(other)
    await expect.poll(() => listsOf(svc, other)).toHaveLength(1)
    await held.release()

    await expect.poll(() => listsOf(svc, name)).toEqual([[[`${bob.id}`, infoOf(bob)]]])
    await expect.poll(() => there.pusher.channel(name)).toMatchObject({ members: { count: 1 } })
    using late = openPusher(urls[1] ?? '', { token: bob.token })
    expect((await late.subscribe(name)).data).toMatchObject({ members: { [bob.id]: infoOf(bob) } })
  })

  test('is told of nothing that the log says: that is for the private channel', async () => {
    const { svc } = pair
    const room = await createChannel(svc)
    using client = openPusher(svc.url, { token: svc.people.ada.token })
    await client.subscribe(`presence-Rooms.${room.slug}`)
    await client.subscribe(room.channel)

    await svc.ada.update('rooms', room.id, { name: 'Go' })
    await client.until('change', 1)

    expect(client.events.filter(({ event }) => event === 'change').map(({ channel }) => channel)).toEqual([
      room.channel,
    ])
  })

  test('is without somebody once they are removed from the room', async () => {
    const { svc } = pair
    const room = await createChannel(svc)
    const id = await joinRoom(svc, room.id, 'cyd', 'viewer')
    const name = `presence-Rooms.${room.slug}`
    using ada = openPusher(svc.url, { token: svc.people.ada.token })
    using cyd = openPusher(svc.url, { token: svc.people.cyd.token })
    await cyd.subscribe(name)
    await ada.subscribe(name)

    await svc.ada.delete(`/room-members/${id}`)
    await ada.until('pusher:member_removed', 1)

    await cyd.until('pusher:subscription_error', 1)
    expect(ada.pusher.channel(name)).toMatchObject({ members: { count: 1 } })
  })
})

describe.skipIf(!inject('redisUrl'))('svc realtime', () => {
  test('shows what is open at each replica', async () => {
    const { svc } = pair
    // Connections of earlier tests close on their own.
    await expect.poll(() => readReplicaPart(svc, 'realtime')).toMatch(/^0 connections.* to 0 channels/)
    const room = await createChannel(svc)
    using client = openPusher(svc.url, { token: svc.people.ada.token })
    await client.subscribe(room.channel)
    const following = await RawSubscription.open({
      url: svc.url,
      path: 'users.changes',
      token: svc.people.bob.token,
    })
    await following.waitForPosition()

    const { DATABASE_URL = '', REDIS_URL = '' } = svc.env
    const { stdout } = await runCommand(['realtime', '--json'], {
      env: { DATABASE_URL, REDIS_URL, DATA_DIR: svc.folder },
    })

    following.close()
    const reports = JSON.parse(stdout) as Record<string, unknown>[]
    expect(reports).toHaveLength(2)
    expect(reports).toContainEqual({
      replica: expect.any(String),
      connections: expect.any(Number),
      people: 1,
      channels: 1,
      subscriptions: 1,
      behind: 0,
      lagMs: expect.any(Number),
      failing: [],
    })
  })
})
