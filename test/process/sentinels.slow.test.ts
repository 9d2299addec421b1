import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'
import { APP_KEY } from '../kit/identity/sessions.ts'
import { startSentinels } from '../kit/parts/sentinels.ts'
import { describeWith, testWith } from '../kit/parts/with-parts.ts'
import { createDataFolder, startProcess } from '../kit/service-process.ts'

describeWith('redis')('two replicas over three Redis servers that Sentinels watch', () => {
  const kept = new AsyncDisposableStack()
  let stores: Awaited<ReturnType<typeof startSentinels>>
  let one: TestApp
  let other: TestApp

  beforeAll(async () => {
    stores = kept.use(await startSentinels())
    const settings = { APP_KEY, RATE_LIMIT_PER_MINUTE: '10', ...stores.settings }
    one = kept.use(await startApp(settings))
    other = kept.use(await startApp({ ...settings, DATABASE_URL: String(one.env.DATABASE_URL) }))
  })
  afterAll(() => kept.disposeAsync())

  const isHealthy = async ({ send }: TestApp) => (await send('GET', '/health/ready')).status === 200
  /** Resolves when a message of one replica reaches the other. */
  const reach = async () => {
    const messages: unknown[] = []
    const stop = other.services.changes.bus.subscribe({
      onChanges() {},
      onInterruption() {},
      onMessage: (topic, content) => void messages.push([topic, content]),
    })
    await expect
      .poll(async () => {
        await one.services.changes.bus.broadcast('test', 'well')
        return messages
      })
      .toContainEqual(['test', 'well'])
    stop()
  }

  test('continue with the next primary when the first dies, and share its counts', async () => {
    await expect.poll(async () => [await isHealthy(one), await isHealthy(other)]).toEqual([true, true])
    await reach()

    await stores.failOver()

    await expect
      .poll(async () => [await isHealthy(one), await isHealthy(other)], { timeout: 60_000 })
      .toEqual([true, true])
    await reach()
    // A connection may be opened again when the Sentinels announce their choice.
    const count = async () => {
      const key = crypto.randomUUID()
      await one.services.stores.kv.set(key, 'after it', 60_000)
      await one.services.limits.limiter.consume(key, 5, 60, 3)
      const [value, { remaining }] = [
        await other.services.stores.kv.get(key),
        await other.services.limits.limiter.consume(key, 5, 60, 1),
      ]
      return { value, remaining }
    }
    await expect
      .poll(() => count().catch(() => 'not yet'), { timeout: 60_000 })
      .toEqual({ value: 'after it', remaining: 1 })
    expect([...one.log, ...other.log].join('')).not.toMatch(/word of the/)
  })
})

testWith('redis')('Redis and Sentinels that speak TLS alone are reached where their authority is trusted', async () => {
  await using stores = await startSentinels({ tls: true })
  await using database = await cloneDatabase()
  await using folder = await createDataFolder()
  const settings = {
    ...stores.settings,
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    PORT: '0',
    HEALTH_DEEP_EVERY: '1',
  }
  const findRedis = async (extra: Record<string, string>) => {
    await using service = startProcess({ ...settings, ...extra })
    return (await fetch(`${await service.ready()}/health`)).status
  }
  expect(await findRedis({ NODE_EXTRA_CA_CERTS: stores.caFile })).toBe(200)
  expect(await findRedis({})).toBe(503)
})
