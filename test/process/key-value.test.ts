// @module-tag debian

import { describe, expect, inject, test } from 'vitest'
import { createKeyValue } from '../../server/stores/key-value.ts'
import { redisDatabaseUrl } from '../kit/parts/redis.ts'

const stores: [string, string | undefined][] = [['in this process', undefined]]
if (inject('redisUrl')) stores.push(['in Redis', redisDatabaseUrl(1)])

async function openStore(url: string | undefined) {
  const { kv, close } = await createKeyValue({ url })
  return { kv, key: `value:${crypto.randomUUID()}`, [Symbol.asyncDispose]: close }
}

describe.for(stores)('a value %s', ([, url]) => {
  test('is read as it was set last, and is gone once it is deleted', async () => {
    await using store = await openStore(url)
    const { kv, key } = store

    expect(await kv.get(key)).toBeUndefined()
    await kv.set(key, 'first', 60_000)
    await kv.set(key, 'second', 60_000)
    expect(await kv.get(key)).toBe('second')
    await kv.delete(key)
    expect(await kv.get(key)).toBeUndefined()
    await kv.delete(key)
  })

  test('is replaced or deleted only while unchanged, and set anew once it is gone', async () => {
    await using store = await openStore(url)
    const { kv, key } = store

    await kv.setIfAbsent(key, 'of another', 60_000)
    expect(await kv.replaceIfUnchanged(key, 'own', 'next', 60_000)).toBe(false)
    await kv.deleteIfUnchanged(key, 'own')
    expect(await kv.get(key)).toBe('of another')
    expect(await kv.replaceIfUnchanged(key, 'of another', 'next', 60_000)).toBe(true)
    expect(await kv.get(key)).toBe('next')
    await kv.deleteIfUnchanged(key, 'next')
    expect(await kv.get(key)).toBeUndefined()
    expect(await kv.replaceIfUnchanged(key, 'next', 'again', 60_000)).toBe(true)
    expect(await kv.get(key)).toBe('again')
  })

  test('is gone when its time is over', async () => {
    await using store = await openStore(url)
    const { kv, key } = store

    await kv.set(key, 'short', 300)

    await expect.poll(() => kv.get(key)).toBeUndefined()
  })

  test('is set by exactly one of many concurrent set-if-absent calls', async () => {
    await using store = await openStore(url)
    const { kv, key } = store

    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => kv.setIfAbsent(key, `${index}`, 60_000)),
    )

    expect(outcomes.filter(Boolean)).toHaveLength(1)
    expect(await kv.get(key)).toBe(`${outcomes.indexOf(true)}`)
  })
})
