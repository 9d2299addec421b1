import { Redis } from 'ioredis'
import { describe, expect, inject, test } from 'vitest'
import type { LoggedChange } from '../../entities/events/change-log.sql.ts'
import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { Log } from '../../routers/ports/log.ts'
import { createChangeBus } from '../../server/stores/change-bus.ts'
import { redisDatabaseUrl } from '../kit/parts/redis.ts'
import { startRelay } from '../kit/parts/relay.ts'

const log = { info() {}, warn() {}, error() {} }

const drivers: [string, string | undefined][] = [['in this process', undefined]]
if (inject('redisUrl')) drivers.push(['over Redis', redisDatabaseUrl(11)])

/** Opens a bus that records its messages and interruptions. */
async function open(url: string | undefined, ownLog: Log = log) {
  const bus = await createChangeBus({ url }, ownLog)
  const heard: LoggedChange[] = []
  const counts = { interruptions: 0 }
  const stop = bus.subscribe({
    onChanges: (changes) => void heard.push(...changes),
    onInterruption() {
      counts.interruptions += 1
    },
  })
  return { bus, heard, counts, stop, [Symbol.asyncDispose]: () => bus.close() }
}

const changeOf = (stream: string, seq: number): LoggedChange => ({
  stream,
  seq,
  epoch: 'e',
  kind: 'things.updated',
  subject: '1',
  at: '2026-11-22T00:00:00.000Z',
  number: null,
  status: null,
})

const newStream = () => `room:${crypto.randomUUID()}`
const seqsIn = ({ heard }: { heard: LoggedChange[] }, of: string) =>
  heard.flatMap(({ stream, seq }) => (stream === of ? [seq] : []))

/** Publishes repeatedly until the message arrives, as a bus over Redis needs a moment to subscribe. */
async function untilConnected(from: ChangeBus, listener: { heard: LoggedChange[] }): Promise<void> {
  const stream = newStream()
  await expect
    .poll(() => {
      from.publish([changeOf(stream, 1)])
      return seqsIn(listener, stream).length
    })
    .toBeGreaterThan(0)
}

/** Opens a client that changes users of Redis, and counts the publications that it refused. */
async function openAdmin(url: string) {
  const redis = new Redis(url)
  return {
    redis,
    countRefused: async () =>
      Number(/cmdstat_publish:.*rejected_calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0),
    async [Symbol.asyncDispose]() {
      await redis.acl('DELUSER', 'reader')
      redis.disconnect()
    },
  }
}

describe.for(drivers)('a bus %s', ([, url]) => {
  test('carries changes to everybody who listens in the process, at once and in order', async () => {
    await using own = await open(url)
    const stream = newStream()

    own.bus.publish([changeOf(stream, 1), changeOf(stream, 2)])
    own.bus.publish([changeOf(stream, 3)])

    expect(seqsIn(own, stream)).toEqual([1, 2, 3])
  })

  test('tells nothing to who has stopped listening', async () => {
    await using own = await open(url)
    const stream = newStream()

    own.stop()
    own.bus.publish([changeOf(stream, 1)])

    expect(seqsIn(own, stream)).toEqual([])
  })

  test('goes on where one who listens fails', async () => {
    await using own = await open(url)
    const stream = newStream()
    const later: LoggedChange[] = []
    own.bus.subscribe({
      onChanges() {
        throw new Error('no')
      },
      onInterruption() {},
    })
    own.bus.subscribe({ onChanges: (changes) => void later.push(...changes), onInterruption() {} })

    own.bus.publish([changeOf(stream, 1)])

    expect([seqsIn(own, stream), seqsIn({ heard: later }, stream)]).toEqual([[1], [1]])
  })
})

describe.skipIf(!inject('redisUrl'))('a bus over Redis', () => {
  const url = redisDatabaseUrl(11)

  test('carries changes to every other replica, each once and in order', async () => {
    await using one = await open(url)
    await using other = await open(url)
    await untilConnected(one.bus, other)
    await untilConnected(other.bus, one)
    const stream = newStream()

    for (let seq = 1; seq <= 200; seq++) one.bus.publish([changeOf(stream, seq)])

    await expect.poll(() => seqsIn(other, stream).length).toBe(200)
    expect(seqsIn(other, stream)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1))
    // A later message of the other bus arrives after any echo would have.
    await untilConnected(other.bus, one)
    expect(seqsIn(one, stream)).toEqual(Array.from({ length: 200 }, (_, n) => n + 1))
  })

  test('carries nothing to replicas of an installation in another database of the same server', async () => {
    await using one = await open(url)
    await using same = await open(url)
    await using foreign = await open(redisDatabaseUrl(12))
    await untilConnected(one.bus, same)

    expect(foreign.heard).toEqual([])
  })

  test('says after an interruption that changes may have been missed, and carries on', async () => {
    await using relay = await startRelay(Number(new URL(url).port))
    await using one = await open(url)
    await using other = await open(url.replace(/:\d+\//, `:${relay.port}/`))
    await untilConnected(one.bus, other)
    const before = other.counts.interruptions

    relay.cut()
    one.bus.publish([changeOf(newStream(), 1)])
    relay.mend()

    await expect.poll(() => other.counts.interruptions).toBeGreaterThan(before)
    await untilConnected(one.bus, other)
  })

  test('logs once that Redis is lost, and once that it is back', async () => {
    await using relay = await startRelay(Number(new URL(url).port))
    const lines: string[] = []
    const write = (_: object, line: string) => void lines.push(line)
    await using cut = await open(url.replace(/:\d+\//, `:${relay.port}/`), { info: write, warn: write, error: write })
    await using other = await open(url)
    await untilConnected(other.bus, cut)
    expect(lines).toEqual([])

    relay.cut()
    await expect.poll(() => lines).toHaveLength(1)
    relay.mend()
    await untilConnected(other.bus, cut)
    await expect.poll(() => lines).toEqual([expect.stringContaining('not reached'), expect.stringContaining('again')])
  })

  test('tells the others when it could not tell them', async () => {
    await using relay = await startRelay(Number(new URL(url).port))
    await using cut = await open(url.replace(/:\d+\//, `:${relay.port}/`))
    await using other = await open(url)
    await untilConnected(cut.bus, other)
    const before = other.counts.interruptions

    relay.cut()
    cut.bus.publish([changeOf(newStream(), 1)])
    relay.mend()

    await expect.poll(() => other.counts.interruptions).toBeGreaterThan(before)
  })

  test('a Redis that refuses a message is asked again after a pause', async () => {
    await using admin = await openAdmin(url)
    await admin.redis.acl('SETUSER', 'reader', 'on', '>secret', '~*', '&*', '+@all', '-publish')
    await using refused = await open(url.replace('redis://', 'redis://reader:secret@'))
    await using other = await open(url)
    await expect.poll(() => refused.bus.isConnected()).toBe(true)
    await untilConnected(other.bus, refused)
    const before = await admin.countRefused()

    refused.bus.publish([changeOf(newStream(), 1)])
    await expect.poll(admin.countRefused).toBeGreaterThan(before + 1)
    const [begun, earlier] = [performance.now(), await admin.countRefused()]
    for (let n = 0; n < 50; n++) await admin.redis.ping()

    // Without a pause there would be a retry with about every ping, however long those take.
    const retries = (await admin.countRefused()) - earlier
    expect(retries).toBeLessThan(3 + (performance.now() - begun) / 40)
    const { interruptions } = other.counts
    await admin.redis.acl('SETUSER', 'reader', '+publish')
    await expect.poll(() => other.counts.interruptions).toBeGreaterThan(interruptions)
  })

  test.for(['no JSON', 'null', '5'])('takes %s from a stranger for a change that was missed', async (text) => {
    await using own = await open(url)
    await using other = await open(url)
    await untilConnected(other.bus, own)
    const before = own.counts.interruptions

    const stranger = new Redis(url)
    await stranger.publish(`svc:changes:${stranger.options.db}`, text)
    stranger.disconnect()

    await expect.poll(() => own.counts.interruptions).toBe(before + 1)

    own.bus.publish([changeOf('room:1', 1)])
    expect(seqsIn(own, 'room:1')).toEqual([1])
  })

  test('keeps a bounded number of what Redis does not take', async () => {
    let isStuck = false
    await using relay = await startRelay(Number(new URL(url).port), { onSent: () => (isStuck ? 'hold' : undefined) })
    await using stuck = await open(url.replace(/:\d+\//, `:${relay.port}/`))
    await using other = await open(url)
    await untilConnected(stuck.bus, other)

    isStuck = true
    for (let n = 0; n < 3000; n++) stuck.bus.broadcast('noise', { n })
    await expect.poll(() => relay.sent().includes('"n":900}')).toBe(true)
    // The bus sends its pending messages before it disconnects.
    await stuck.bus.close()
    await expect.poll(() => relay.open.size).toBe(0)

    expect(
      relay
        .sent()
        .toString()
        .match(/"topic":"noise"/g)?.length,
    ).toBeLessThanOrEqual(1000)
  })
})
