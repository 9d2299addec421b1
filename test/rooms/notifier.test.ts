import { expect, inject, test } from 'vitest'
import { createChangeBus } from '../../server/stores/change-bus.ts'
import { createNotifier } from '../../server/stores/notifier.ts'
import { createSilentLog } from '../kit/log.ts'
import { redisDatabaseUrl } from '../kit/parts/redis.ts'
import { startRelay } from '../kit/parts/relay.ts'

async function open(url: string | undefined) {
  const bus = await createChangeBus({ url }, createSilentLog())
  return { notifier: createNotifier(bus), bus, [Symbol.asyncDispose]: () => bus.close() }
}

/** A value that others wait for, with the number of reads. */
function newThing() {
  const key = crypto.randomUUID()
  const thing: { key: string; value?: string; looks: number } = { key, looks: 0 }
  const look = async () => {
    thing.looks += 1
    return thing.value
  }
  return Object.assign(thing, { look })
}

const forever = new AbortController().signal

test('a waiter reads once at the start and once for each notice', async () => {
  await using own = await open(undefined)
  const thing = newThing()
  const waiting = own.notifier.waitFor([thing.key], thing.look, forever)
  await expect.poll(() => thing.looks).toBe(1)

  own.notifier.notify(crypto.randomUUID())
  own.notifier.notify(thing.key)
  await expect.poll(() => thing.looks).toBe(2)
  thing.value = 'there'
  own.notifier.notify(thing.key)

  expect([await waiting, thing.looks]).toEqual(['there', 3])
})

test('who waits looks a last time at the end, and then waits no more', async () => {
  await using own = await open(undefined)
  const [missed, late] = [newThing(), newThing()]
  const end = new AbortController()
  const waiting = [missed, late].map(({ key, look }) => own.notifier.waitFor([key], look, end.signal))
  await expect.poll(() => missed.looks + late.looks).toBe(2)

  late.value = 'there'
  end.abort()

  expect(await Promise.all(waiting)).toEqual([undefined, 'there'])
})

test.skipIf(!inject('redisUrl'))(
  'a notice wakes those who wait on another replica, also after a lost connection',
  async () => {
    const url = redisDatabaseUrl(2)
    await using relay = await startRelay(Number(new URL(url).port))
    await using own = await open(url.replace(/:\d+\//, `:${relay.port}/`))
    await using other = await open(url)
    await expect.poll(() => own.bus.isConnected() && other.bus.isConnected()).toBe(true)
    const [first, second] = [newThing(), newThing()]
    const waiting = [first, second].map(({ key, look }) => other.notifier.waitFor([key], look, forever))
    await expect.poll(() => first.looks + second.looks).toBeGreaterThan(1)

    first.value = 'told'
    own.notifier.notify(first.key)
    expect(await waiting[0]).toBe('told')
    relay.cut()
    second.value = 'missed'
    own.notifier.notify(second.key)
    relay.mend()

    expect(await waiting[1]).toBe('missed')
  },
)
