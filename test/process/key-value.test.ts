import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, inject, test } from 'vitest'
import { createKeyValue } from '../../server/stores/key-value.ts'
import { ownDatabase } from '../kit/redis.ts'

const stores: [string, string | undefined][] = [['in this process', undefined]]
if (inject('redisUrl')) stores.push(['in Redis', ownDatabase(1)])

async function openStore(url: string | undefined) {
  const { kv, close } = await createKeyValue(url)
  const key = `set:${crypto.randomUUID()}`
  return { kv, key, [Symbol.asyncDispose]: close }
}

describe.for(stores)('a set %s', ([, url]) => {
  test('has what was added, each once and the last added first', async () => {
    await using store = await openStore(url)
    const { kv, key } = store

    for (const member of ['a', 'b', 'c', 'a']) {
      await kv.addMember(key, member, 60_000)
      await pause(5)
    }

    expect(await kv.members(key)).toEqual(['a', 'c', 'b'])
  })

  test('loses what is removed, and is empty once it is deleted or never was', async () => {
    await using store = await openStore(url)
    const { kv, key } = store
    for (const member of ['a', 'b', 'c']) await kv.addMember(key, member, 60_000)

    await kv.removeMember(key, 'b')
    await kv.removeMember(key, 'never there')
    expect((await kv.members(key)).sort()).toEqual(['a', 'c'])

    await kv.delete(key)
    expect(await kv.members(key)).toEqual([])
    await kv.removeMember(key, 'a')
    expect(await kv.members(key)).toEqual([])
  })

  test('loses each member when its own time is over', async () => {
    await using store = await openStore(url)
    const { kv, key } = store

    await kv.addMember(key, 'short', 300)
    await kv.addMember(key, 'long', 60_000)
    await kv.addMember(key, 'again', 300)
    await kv.addMember(key, 'again', 60_000)
    await pause(600)

    expect((await kv.members(key)).sort()).toEqual(['again', 'long'])
  })

  test('is gone with the time of what came last', async () => {
    await using store = await openStore(url)
    const { kv, key } = store

    await kv.addMember(key, 'a', 300)
    await pause(600)

    expect(await kv.members(key)).toEqual([])
  })

  test('loses nothing when many are added at once', async () => {
    await using store = await openStore(url)
    const { kv, key } = store
    const members = Array.from({ length: 50 }, (_, index) => `member ${index}`)

    await Promise.all(members.map((member) => kv.addMember(key, member, 60_000)))

    expect((await kv.members(key)).sort()).toEqual(members.sort())
  })
})
