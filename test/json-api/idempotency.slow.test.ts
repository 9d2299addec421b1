import { Redis } from 'ioredis'
import { afterAll, beforeAll, beforeEach, expect, inject, test, vi } from 'vitest'
import { send, startApp } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'
import { findFreePort } from '../kit/free-port.ts'
import { type Client, createApiClient, type JsonApiApp, startJsonApi, toOne } from '../kit/json-api/client.ts'
import { redisDatabaseUrl, watchRedis } from '../kit/parts/redis.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openClient } from '../kit/postgres-client.ts'
import { createDataFolder, startProcess } from '../kit/service-process.ts'

const provider = (providerId: string, name = 'Name') => ({
  data: { type: 'ai-providers', attributes: { providerId, name, adapter: 'demo', apiKey: 'a-very-secret-key' } },
})

const create = (client: Client, key: string, body: unknown = provider('p'), path = '/ai-providers') =>
  client.send('POST', path, body, { 'idempotency-key': key })

const headersOf = ({ headers }: { headers: Headers }) =>
  ['location', 'etag', 'content-type'].map((name) => headers.get(name))

/** A Redis database of this file alone, which inspects all its keys. */
const DATABASE = 2
const redisUrl = inject('redisUrl') && redisDatabaseUrl(DATABASE)

let svc: JsonApiApp
beforeAll(async () => {
  svc = await startJsonApi()
})
afterAll(() => svc[Symbol.asyncDispose]())
let admin: Client
// Each test has an administrator of its own, whose keys are nobody else's, and no providers yet.
beforeEach(async () => {
  const { token } = await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })
  admin = createApiClient(svc, token)
  await svc.rows('delete from ai_providers')
})

test('a repeated creation with a key returns the first response and creates nothing', async () => {
  const first = await create(admin, 'one')
  await admin.update('ai-providers', first.one.id, { name: 'Changed since' })
  const again = await create(admin, 'one')

  expect([first.status, again.status]).toEqual([201, 201])
  expect(again.text).toBe(first.text)
  expect(headersOf(again)).toEqual(headersOf(first))
  expect(headersOf(again)).toEqual([first.one.links['self'], expect.stringMatching(/^"/), 'application/vnd.api+json'])
  expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
  expect(await svc.rows('select name from ai_providers')).toEqual([{ name: 'Changed since' }])
})

test('a key is refused with another body, address or query', async () => {
  await create(admin, 'one')
  const server = { data: { type: 'mcp-servers', attributes: { serverLabel: 's', url: 'u' } } }

  const refused = [
    await create(admin, 'one', provider('other')),
    await create(admin, 'one', server, '/mcp-servers'),
    await create(admin, 'one', provider('p'), '/ai-providers?fields[ai-providers]=name'),
  ]

  for (const { status, errors } of refused) {
    expect(status).toBe(409)
    expect(errors).toMatchObject([
      { status: '409', code: 'idempotency_conflict', source: { header: 'Idempotency-Key' } },
    ])
  }
  expect(await svc.rows('select 1 from ai_providers union all select 1 from mcp_servers')).toHaveLength(1)
})

test('a key is separate for each person and each token', async () => {
  const other = await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })
  await create(admin, 'one')

  const byOther = await create(createApiClient(svc, other.token), 'one', provider('other'))
  const byReading = await create(svc.adminReading, 'one')
  const byGuest = await create(svc.guest, 'one')
  const byUser = await create(svc.ada, 'one')

  expect([byOther.status, byReading.status, byGuest.status, byUser.status]).toEqual([201, 403, 401, 403])
  expect(byReading.text).not.toContain('ai-providers/')
})

test('a creation with a key that is sent many times at once happens once', async () => {
  const answers = await Promise.all(Array.from({ length: 12 }, () => create(admin, 'one')))

  const done = answers.filter(({ status }) => status === 201)
  expect(new Set(done.map(({ text }) => text)).size).toBe(1)
  for (const { status, errors } of answers.filter(({ status }) => status !== 201))
    expect([status, errors[0]?.code]).toEqual([409, 'idempotency_conflict'])
  expect(await svc.rows('select 1 from ai_providers')).toHaveLength(1)
})

test('a creation that was refused may be corrected under the same key', async () => {
  const wrong = await create(admin, 'one', provider('', 'Name'))
  const right = await create(admin, 'one', provider('p'))
  const again = await create(admin, 'one', provider('p'))
  const repeated = await create(admin, 'two', provider('p'))
  const other = await create(admin, 'two', provider('q'))

  expect([wrong.status, right.status, again.status]).toEqual([422, 201, 201])
  expect(again.text).toBe(right.text)
  expect([repeated.status, other.status]).toEqual([409, 201])
  expect(repeated.errors[0]?.code).toBe('conflict')
})

test("a creation that fails after its claim expired keeps the newer one's response", async () => {
  const { answers } = svc.services.stores
  const { limiter } = svc.services.limits
  const { refund } = limiter
  const claiming = vi.spyOn(answers, 'setIfAbsent')
  let second: Awaited<ReturnType<typeof create>> | undefined
  // The first one has failed, and is about to release the key.
  Object.assign(limiter, {
    refund: async (...taken: Parameters<typeof refund>) => {
      Object.assign(limiter, { refund })
      await answers.delete(claiming.mock.calls[0]?.[0] ?? '')
      second = await create(admin, 'one')
      await refund(...taken)
    },
  })

  const first = await create(admin, 'one', provider(''))
  const third = await create(admin, 'one')
  claiming.mockRestore()

  expect([first.status, second?.status, third.status]).toEqual([422, 201, 201])
  expect(third.text).toBe(second?.text)
})

test('a creation with a key that failed by our fault may be tried again', async () => {
  await svc.rows('alter table ai_providers rename to elsewhere')
  const failed = await create(admin, 'one')
  await svc.rows('alter table elsewhere rename to ai_providers')

  const again = await create(admin, 'one')

  expect([failed.status, again.status]).toEqual([500, 201])
})

test.for([
  ['refund', () => vi.spyOn(svc.services.limits.limiter, 'refund')],
  ['release', () => vi.spyOn(svc.services.stores.answers, 'deleteIfUnchanged')],
] as const)('a refused creation tells its own error when the %s of its key fails', async ([, watch]) => {
  const failing = watch()
  failing.mockRejectedValueOnce(new Error('the store is down'))

  const refused = await create(admin, 'one', provider(''))
  failing.mockRestore()

  expect([refused.status, refused.errors[0]?.code]).toEqual([422, 'invalid_attribute'])
  expect(svc.log.join('')).toMatch(/idempotency key could not be (refunded|released)/)
})

test('a repeat is refused as unavailable while the stored response cannot be read', async () => {
  await create(admin, 'one')
  const reading = vi.spyOn(svc.services.stores.answers, 'get').mockRejectedValueOnce(new Error('the store is down'))

  const again = await create(admin, 'one')
  reading.mockRestore()

  expect([again.status, again.errors[0]?.code]).toEqual([503, 'unavailable'])
})

test('a creation with a key needs a key that is one', async () => {
  for (const key of ['', 'two words', 'tab\tin', 'x'.repeat(256), 'ä']) {
    const { status, errors } = await create(admin, key)
    expect([key.slice(0, 9), status]).toEqual([key.slice(0, 9), 400])
    expect(errors).toMatchObject([{ code: 'idempotency_key', source: { header: 'Idempotency-Key' } }])
  }
  expect(await svc.rows('select 1 from ai_providers')).toEqual([])
  expect((await create(admin, 'x'.repeat(255))).status).toBe(201)
  expect((await create(admin, '"8e03978e-40d5-43dd-bc93-6894a57f9324"', provider('q'))).status).toBe(201)
})

test('a creation with a key is as many creations as keys', async () => {
  const answers = await Promise.all(['a', 'b', 'c'].map((key) => create(admin, key, provider(key))))

  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201])
})

test('a key does nothing for what may be repeated anyway', async () => {
  const { one } = await admin.create('ai-providers', provider('p').data.attributes)
  const rename = (name: string) =>
    admin.send(
      'PATCH',
      `/ai-providers/${one.id}`,
      { data: { type: 'ai-providers', id: one.id, attributes: { name } } },
      { 'idempotency-key': 'one' },
    )

  expect([(await rename('A')).status, (await rename('B')).one.attributes['name']]).toEqual([200, 'B'])
  expect((await admin.get('/ai-providers', { 'idempotency-key': 'one' })).list).toHaveLength(1)
})

test('a repeat is refused while the outcome of the first is unknown', async () => {
  const nowhere = `redis://127.0.0.1:${await findFreePort()}`
  await using svc = await startApp({ REDIS_URL: nowhere })
  const { token } = await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })
  const away = createApiClient(svc, token)

  const keyed = await create(away, 'one')
  const plain = await away.post('/ai-providers', provider('q'))

  expect([keyed.status, keyed.errors[0]?.code, plain.status]).toEqual([503, 'unavailable', 201])
  expect(await svc.rows(`select 1 from ai_providers where provider_id = 'p'`)).toEqual([])
})

describeWith('redis')('over two replicas', () => {
  let replicas: Awaited<ReturnType<typeof startTwo>>
  beforeAll(async () => {
    replicas = await startTwo()
  })
  afterAll(() => replicas[Symbol.asyncDispose]())

  async function startTwo() {
    const database = await cloneDatabase()
    const settings = { DATABASE_URL: database.url, REDIS_URL: redisUrl ?? '', APP_KEY: appKey }
    const [one, two] = [await startApp(settings), await startApp(settings)]
    const admin = await one.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })
    const models = await createApiClient(one, admin.token).get('/ai-models')
    return {
      settings,
      token: admin.token,
      one: createApiClient(one, admin.token),
      two: createApiClient(two, admin.token),
      model: models.list[0]?.id ?? '',
      count: async (name: string) => one.rows('select 1 from ai_providers where provider_id = $1', [name]),
      async [Symbol.asyncDispose]() {
        await one[Symbol.asyncDispose]()
        await two[Symbol.asyncDispose]()
        await database[Symbol.asyncDispose]()
      },
    }
  }
  const appKey = 'base64:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='

  test('a replay arrives at the other one and is the same', async () => {
    const key = crypto.randomUUID()

    const first = await create(replicas.one, key, provider(key.slice(0, 8)))
    const again = await create(replicas.two, key, provider(key.slice(0, 8)))
    const other = await create(replicas.two, key, provider('other'))

    expect([first.status, again.status, other.status]).toEqual([201, 201, 409])
    expect(again.text).toBe(first.text)
    expect(headersOf(again)).toEqual(headersOf(first))
    expect(await replicas.count(key.slice(0, 8))).toHaveLength(1)
  })

  test('what arrives at both at once happens once', async () => {
    const key = crypto.randomUUID()
    const body = {
      data: {
        type: 'system-models',
        attributes: { modelType: key.slice(0, 8), usageType: 'external' },
        relationships: { model: toOne('ai-models', replicas.model) },
      },
    }

    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        create(index % 2 ? replicas.one : replicas.two, key, body, '/system-models'),
      ),
    )

    const done = answers.filter(({ status }) => status === 201)
    expect(done.length).toBeGreaterThan(0)
    expect(new Set(done.map(({ text }) => text)).size).toBe(1)
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true)
  })

  test('a stored response is readable by nobody else, and expires', async () => {
    const redis = new Redis(redisUrl ?? '')
    const before = new Set(await redis.keys('svc:idempotency:*'))
    const key = crypto.randomUUID()

    const { text } = await create(replicas.one, key, provider(key.slice(0, 8), 'Name that nobody may read'))

    const [place = ''] = (await redis.keys('svc:idempotency:*')).filter((name) => !before.has(name))
    const kept = (await redis.get(place)) ?? ''
    expect(kept).not.toBe('')
    expect(`${place}${kept}`).not.toContain(key)
    for (const secret of ['nobody may read', 'a-very-secret-key', 'ai-providers', 'location'])
      expect(kept).not.toContain(secret)
    expect(text).toContain('nobody may read')
    const left = await redis.pttl(place)
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(24 * 60 * 60_000)
    redis.disconnect()
  })

  test('a key stays claimed during its request, and is freed after a kill', async () => {
    const redis = new Redis(redisUrl ?? '')
    const before = new Set(await redis.keys('svc:idempotency:*'))
    await using folder = await createDataFolder()
    await using replica = startProcess({ ...replicas.settings, DATA_DIR: folder.path, PORT: '0' })
    const third = createApiClient({ send: (...request) => send(url, ...request) }, replicas.token)
    const url = await replica.ready()
    await using holder = await openClient(replicas.settings.DATABASE_URL)
    await holder.query(`begin; select from change_streams where stream = 'all' for update`)
    const key = crypto.randomUUID()
    const body = provider(key.slice(0, 8))
    const lost = create(third, key, body).catch(() => undefined)
    const claims = async () => (await redis.keys('svc:idempotency:*')).filter((name) => !before.has(name))
    await expect.poll(claims).toHaveLength(1)
    const [claim = ''] = await claims()

    await redis.pexpire(claim, 4000)
    await expect.poll(() => redis.pttl(claim)).toBeGreaterThan(5000)
    const early = await create(replicas.two, key, body)
    replica.kill('SIGKILL')
    await lost
    await holder.query('rollback')

    expect([early.status, early.errors[0]?.detail]).toEqual([409, expect.stringContaining('under way')])
    await expect.poll(async () => (await create(replicas.two, key, body)).status).toBe(201)
    expect(await replicas.count(key.slice(0, 8))).toHaveLength(1)
    redis.disconnect()
  })

  test('the mark of a request under way has an end from the start', async () => {
    using watched = await watchRedis(redisUrl ?? '')
    // It shows all databases, and other tests use some of them.
    const isMark = (command: string) => command.includes(`[${DATABASE} `) && /"set" "svc:idempotency:/i.test(command)
    const marks = () => watched.commands.filter(isMark)

    await create(replicas.one, crypto.randomUUID(), provider(crypto.randomUUID().slice(0, 8)))

    await expect.poll(() => marks().length).toBeGreaterThanOrEqual(2)
    const [mark = ''] = marks()
    expect(mark).toMatch(/"NX"/i)
    expect(Number(/"PX" "(\d+)"/i.exec(mark)?.[1])).toBeLessThanOrEqual(10_000)
  })
})
