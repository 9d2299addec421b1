import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { buildModel, buildProvider, startWithConfig } from '../kit/ai/model-config.ts'
import { type Behaviour, buildQuestion, refuses, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'
import { emptyCatalogue } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const app = shareResource(() => startWithConfig({ providers: [] }))
afterEach(() => emptyCatalogue(app.svc))

describe("a provider's key", () => {
  const keyOf = async (svc: TestApp) =>
    (await svc.rows<{ key: string }>('select api_key as key from ai_providers'))[0]?.key ?? ''
  const appKey = () => randomBytes(32).toString('base64')

  test('is sealed in the database, and follows only changes of the file', async () => {
    await using upstream = await startProvider()
    const config = (apiKey?: string) => ({
      providers: [buildProvider('p', [buildModel('mock-1')], { apiUrl: upstream.url, ...(apiKey && { apiKey }) })],
    })
    await app.sync(config('CANARY-KEY-1'))
    const { token } = await app.svc.user()
    const readSentKey = async () => {
      expect((await app.svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })).status).toBe(200)
      return upstream.requests.at(-1)?.headers.authorization
    }
    const sealed = await keyOf(app.svc)
    const [{ row = '' } = {}] = await app.svc.rows<{ row: string }>('select p::text as row from ai_providers p')

    expect(sealed).toMatch(/^v1\./)
    expect(row).not.toContain('CANARY')
    expect(await readSentKey()).toBe('Bearer CANARY-KEY-1')
    await app.sync(config('CANARY-KEY-1'))
    expect(await keyOf(app.svc)).toBe(sealed)
    await app.sync(config('CANARY-KEY-2'))
    expect(await readSentKey()).toBe('Bearer CANARY-KEY-2')
    await app.sync(config())
    expect(await keyOf(app.svc)).toBe('')
    expect(await readSentKey()).toBeUndefined()
  })

  describe('goes to no server that it was not given for', () => {
    const file = (apiUrl: string, apiKey: string, more: object = {}) => ({
      providers: [buildProvider('p', [buildModel('mock-1')], { apiUrl, apiKey, ...more })],
    })

    /** Starts two providers, of which the configuration file names the first. */
    async function startTwo(more: object = {}, behave?: Behaviour) {
      await using resources = new AsyncDisposableStack()
      const [first, second] = [resources.use(await startProvider(behave)), resources.use(await startProvider(behave))]
      await app.sync(file(first.url, 'key-of-file', more))
      const [admin, ada] = [
        await app.svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] }),
        await app.svc.user(),
      ]
      const [{ id = 0 } = {}] = await app.svc.rows<{ id: number }>('select id from ai_providers')
      const logStart = app.svc.log.length
      const disposables = resources.move()
      return {
        first,
        second,
        /** Changes the provider as an administrator. */
        async change(attributes: object) {
          const data = { type: 'ai-providers', id: String(id), attributes }
          const { token } = admin
          const headers = { 'content-type': 'application/vnd.api+json' }
          const path = `/api/svc/v1/ai-providers/${id}`
          expect((await app.svc.send('PATCH', path, { token, headers, body: { data } })).status).toBe(200)
        },
        /** Asks a question and returns the keys that each provider was sent. */
        async keys() {
          await app.svc.send('POST', '/api/ai-req', { token: ada.token, body: buildQuestion() })
          const sentTo = ({ requests }: typeof first) => requests.map(({ headers }) => headers.authorization)
          return { first: sentTo(first), second: sentTo(second) }
        },
        servers: () =>
          app.svc.rows('select api_url as "apiUrl", from_file as "fromFile" from provider_servers order by id'),
        warnings: () => app.svc.log.slice(logStart).filter((line) => line.includes('do not take effect')).length,
        [Symbol.asyncDispose]: () => disposables.disposeAsync(),
      }
    }

    test('a key that an administrator set stays with its address despite the file', async () => {
      await using two = await startTwo()
      await two.change({ apiKey: 'key-of-admin' })

      await app.sync(file(two.second.url, 'key-of-file'))
      await app.sync(file(two.second.url, 'key-of-file'))

      expect(await two.keys()).toEqual({ first: ['Bearer key-of-admin'], second: [] })
      expect(two.warnings()).toBe(1)
    })

    test("a new key of the file does not go to an administrator's address", async () => {
      await using two = await startTwo()
      await two.change({ apiUrl: two.second.url, apiKey: 'key-of-file' })

      await app.sync(file(two.first.url, 'new-key-of-file'))

      expect(await two.keys()).toEqual({ first: [], second: ['Bearer key-of-file'] })
    })

    test('a file that changes both is followed', async () => {
      await using two = await startTwo()

      await app.sync(file(two.second.url, 'new-key-of-file'))

      expect(await two.keys()).toEqual({ first: [], second: ['Bearer new-key-of-file'] })
      expect(two.warnings()).toBe(0)
    })

    test('a key that an administrator set follows the file to another path only', async () => {
      await using two = await startTwo()
      await two.change({ apiKey: 'key-of-admin' })

      await app.sync(file(`${two.first.url}/other`, 'key-of-file'))

      expect(await two.keys()).toEqual({ first: ['Bearer key-of-admin'], second: [] })
      expect(two.first.requests[0]?.path).toBe('/v1/other/chat/completions')
    })

    test('the further servers of the file leave and return with its address', async () => {
      const servers = { servers: [{ apiKey: 'server-key' }] }
      await using two = await startTwo(servers, refuses(401))
      await two.change({ apiUrl: two.second.url, apiKey: 'key-of-admin' })

      expect(await two.keys()).toEqual({ first: [], second: ['Bearer key-of-admin'] })
      await app.sync(file(two.first.url, 'key-of-file', servers))
      expect(await two.keys()).toEqual({ first: [], second: Array(2).fill('Bearer key-of-admin') })

      await two.change({ apiUrl: two.first.url, apiKey: 'key-of-file' })
      await app.sync(file(two.first.url, 'key-of-file', servers))
      expect((await two.keys()).first).toEqual(['Bearer key-of-file', 'Bearer server-key'])
    })

    test("a further server keeps the adapter's usual address, and leaves with the adapter", async () => {
      const usual = { adapter: 'openai', apiUrl: undefined, servers: [{ apiKey: 'server-key' }] }
      await using two = await startTwo(usual)
      expect(await two.servers()).toMatchObject([{ apiUrl: 'https://api.openai.com/v1' }])

      await two.change({ adapter: 'anthropic', apiKey: 'key-of-admin' })
      expect(await two.servers()).toEqual([])
      await app.sync(file('', 'key-of-file', usual))

      expect(await two.servers()).toEqual([])
    })
  })

  test('is sealed anew after a rotation, so that the old application key can go', async () => {
    await using upstream = await startProvider()
    await using config = await writeConfig(upstream.url)
    await using database = await cloneDatabase()
    const [first, second] = [appKey(), appKey()]
    const settings = { DATABASE_URL: database.url, AI_CONFIG: config.file }
    const start = (keys: Record<string, string>) => startApp({ ...settings, ...keys })
    const sendQuestion = async (svc: TestApp, token: string) =>
      (await svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })).status
    let token = ''
    let before = ''
    {
      await using svc = await start({ APP_KEY: first })
      ;({ token } = await svc.user())
      // A provider that no file names must be sealed anew as well.
      await svc.rows(
        `insert into ai_providers (provider_id, adapter, name, api_key) values ('own', 'openai', 'Own', $1)`,
        [svc.services.vault.seal('own-key', 'ai_providers.api_key')],
      )
      await svc.rows(
        `insert into provider_servers (provider_id, api_url, api_key)
         select id, 'https://second.example.org', $1 from ai_providers where provider_id = 'own'`,
        [svc.services.vault.seal('server-key', 'provider_servers.api_key')],
      )
      before = await keyOf(svc)
    }
    {
      await using svc = await start({ APP_KEY: second, APP_PREVIOUS_KEYS: first })
      expect(await sendQuestion(svc, token)).toBe(200)
      expect(await keyOf(svc)).not.toBe(before)
    }
    await using svc = await start({ APP_KEY: second })

    expect(await sendQuestion(svc, token)).toBe(200)
    expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual(Array(2).fill('Bearer provider-key'))
    const [own] = await svc.rows<{ key: string }>(`select api_key as key from ai_providers where provider_id = 'own'`)
    expect(svc.services.vault.open(own?.key ?? '', 'ai_providers.api_key')).toBe('own-key')
    const [server] = await svc.rows<{ key: string }>('select api_key as key from provider_servers')
    expect(svc.services.vault.open(server?.key ?? '', 'provider_servers.api_key')).toBe('server-key')
  })

  test('that no application key opens is taken from the file again', async () => {
    await using upstream = await startProvider()
    await using config = await writeConfig(upstream.url)
    await using database = await cloneDatabase()
    const settings = { DATABASE_URL: database.url, AI_CONFIG: config.file }
    let token = ''
    {
      await using svc = await startApp({ ...settings, APP_KEY: appKey() })
      ;({ token } = await svc.user())
    }
    await using svc = await startApp({ ...settings, APP_KEY: appKey() })

    expect((await svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })).status).toBe(200)
    expect(upstream.requests.at(-1)?.headers.authorization).toBe('Bearer provider-key')
  })

  test("that cannot be opened for one server leaves the provider's other servers working", async () => {
    await using upstream = await startProvider()
    const { svc } = app
    const logStart = svc.log.length
    await app.sync({
      providers: [
        buildProvider('p', [buildModel('mock-1')], {
          apiUrl: upstream.url,
          apiKey: 'provider-key',
          servers: [{ apiKey: 'server-key' }],
        }),
      ],
    })
    const { token } = await svc.user()
    await svc.rows(`update ai_providers set api_key = overlay(api_key placing 'AAAA' from length(api_key) - 8)`)

    expect((await svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })).status).toBe(200)
    expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer server-key'])
    expect(svc.log.slice(logStart).filter((line) => line.includes('cannot be opened'))).toHaveLength(1)
    upstream.listing = { data: [{ id: 'mock-1' }] }
    expect(await svc.host.models.check()).toMatchObject([{ modelId: 'mock-1', status: 'online' }])

    await svc.rows('delete from provider_servers')
    expect(await svc.host.models.check()).toMatchObject([{ modelId: 'mock-1', status: 'unknown' }])
  })

  test('that was tampered with fails the call and nothing else', async () => {
    await using upstream = await startProvider()
    const { svc } = app
    await app.sync({
      providers: [buildProvider('p', [buildModel('mock-1')], { apiUrl: upstream.url, apiKey: 'provider-key' })],
    })
    const { token } = await svc.user()
    await svc.rows(`update ai_providers set api_key = overlay(api_key placing 'AAAA' from length(api_key) - 8)`)

    const response = await svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })

    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({ code: 'provider_failed' })
    expect(upstream.requests).toEqual([])
    expect((await svc.send('GET', '/api/user', { token })).status).toBe(200)
  })
})
