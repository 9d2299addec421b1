// @module-tag debian

import { describe, expect, inject, test } from 'vitest'
import { createKeyValue } from '../../server/stores/key-value.ts'
import { startApp } from '../kit/app.ts'
import { startPair } from '../kit/realtime/replicas.ts'
import { authorize, openSocket } from '../kit/realtime/socket.ts'
import { RawSubscription } from '../kit/rooms/raw-subscription.ts'
import { shareResource } from '../kit/share-resource.ts'

const SLOW = { timeout: 60_000, interval: 50 }

const pair = shareResource(() => startPair({ REALTIME_CONNECTIONS_PER_PERSON: '2', SUBSCRIPTIONS_PER_PERSON: '2' }, 6))

const newPerson = () => pair.svc.user({ abilities: ['read'] })

/** Opens a connection to the first or the second replica, and returns whether it was accepted. */
async function connect({ token }: { token: string }, replica: number) {
  const url = pair.urls[replica] ?? ''
  const socket = await openSocket(url)
  const { body } = await authorize(url, token, socket.id, 'private-AllUsers')
  socket.send({ event: 'pusher:subscribe', data: { ...body, channel: 'private-AllUsers' } })
  const isAnswered = () => socket.frames.some(({ channel }) => channel) || socket.closeCode() !== undefined
  await expect.poll(isAnswered, SLOW).toBe(true)
  return socket
}

const follow = ({ token }: { token: string }, replica: number) =>
  RawSubscription.open({ url: pair.urls[replica] ?? '', path: 'users.changes', token })

test('a process refuses streams beyond its maximum until one ends', async () => {
  await using svc = await startApp({ SUBSCRIPTIONS_MAX: '2' })
  const people = await Promise.all([1, 2, 3].map(() => svc.user({ abilities: ['read'] })))
  const open = ({ token }: { token: string }) => RawSubscription.open({ url: svc.url, path: 'users.changes', token })
  const [first, second, third] = await Promise.all(people.map((person) => open(person)))
  const all = [first, second, third].filter((it) => it !== undefined)
  await Promise.all(all.map((following) => Promise.race([following.waitForPosition(), following.ended])))
  const refused = all.filter(({ problem }) => problem)
  expect(refused.map(({ problem }) => problem)).toMatchObject([{ problem: 'busy', httpStatus: 503 }])

  all.find(({ problem }) => !problem)?.close()

  const again = async () => {
    const following = await open(people[0] as { token: string })
    await Promise.race([following.waitForPosition(), following.ended])
    following.close()
    return following.problem
  }
  await expect.poll(again, SLOW).toBeUndefined()
  for (const following of all) following.close()
})

describe.skipIf(!inject('redisUrl'))('what somebody may have open at a time counts at all replicas together', () => {
  test('of connections', async () => {
    const [one, other] = [await newPerson(), await newPerson()]
    using here = await connect(one, 0)
    using there = await connect(one, 1)
    for (const replica of [0, 1]) {
      using third = await connect(one, replica)
      expect(third.closeCode()).toBe(4004)
    }
    using foreign = await connect(other, 0)

    here.ws.close()
    const again = async () => {
      using socket = await connect(one, 1)
      return socket.closeCode()
    }

    await expect.poll(again, SLOW).toBeUndefined()
    expect([there.closeCode(), foreign.closeCode()]).toEqual([undefined, undefined])
  })

  test('of streams that are followed', async () => {
    const person = await newPerson()
    const open = [await follow(person, 0), await follow(person, 1)]
    for (const following of open) await following.waitForPosition()
    const problemOf = async (replica: number) => {
      const following = await follow(person, replica)
      await Promise.race([following.waitForPosition(), following.ended])
      following.close()
      return following.problem?.['problem']
    }
    expect([await problemOf(0), await problemOf(1)]).toEqual(['too_many_requests', 'too_many_requests'])

    open[0]?.close()

    await expect.poll(() => problemOf(1), SLOW).toBeUndefined()
    open[1]?.close()
  })

  test('and without those of a replica that was killed', async () => {
    const person = await newPerson()
    const { kv, concurrencyLimiter, replica, close } = await createKeyValue({ url: String(pair.svc.env.REDIS_URL) })
    for (let n = 0; n < 2; n++) expect(await concurrencyLimiter.acquire(`connections:${person.id}`, 2)).toBe(true)
    // It counts as alive for as long as the next connection takes.
    await kv.set(`replica:${replica}`, '1', 600_000)
    using refused = await connect(person, 0)
    expect(refused.closeCode()).toBe(4004)

    // The lease of its last heartbeat expires.
    await kv.set(`replica:${replica}`, '1', 300)
    const again = async () => {
      using socket = await connect(person, 0)
      return socket.closeCode()
    }

    await expect.poll(again, SLOW).toBeUndefined()
    await close()
  })
})
