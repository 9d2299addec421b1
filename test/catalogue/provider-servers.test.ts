import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { FURTHER_API_KEY } from '../../routers/ports/vault.ts'
import { model, provider, startWith } from '../kit/ai/model-config.ts'
import { configFor, question, refuses, startProvider } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'
import { clientOf, idsOf, type JsonApiApp, pointersOf, startJsonApi, to } from '../kit/json-api/client.ts'

const apiUrl = 'https://second.example.org/v1'
const apiKey = 'SECRET-KEY-OF-A-SERVER'

async function addProvider(
  { admin }: Pick<JsonApiApp, 'admin'>,
  providerId = 'mine',
  own = 'https://ai.example.org/v1',
) {
  const given = { providerId, name: 'Mine', adapter: 'openai-compatible', apiUrl: own, apiKey: 'own-key' }
  return (await admin.create('ai-providers', given)).one.id
}

/** A service with one provider of an administrator, and a way to add servers to it. */
async function startWithProvider() {
  const svc = await startJsonApi()
  const id = await addProvider(svc)
  const add = (attributes: object, who = svc.admin) =>
    who.create('provider-servers', { apiUrl, ...attributes }, { provider: to('ai-providers', id) })
  const stored = () =>
    svc.rows<{ id: number; url: string; key: string | null }>(
      'select id, api_url as url, api_key as key from provider_servers order by id',
    )
  return Object.assign(svc, { provider: id, add, stored })
}

describe('servers of a provider', () => {
  test('administrators add servers to a provider, change and remove them, and find them with it', async () => {
    await using svc = await startWithProvider()
    const created = await svc.add({ apiKey })
    const { id } = created.one
    expect([created.status, created.headers.get('location')]).toEqual([201, created.one.links['self']])
    expect(created.one.attributes).toMatchObject({ apiUrl, apiKey: '********', fromFile: false })
    const keyless = (await svc.add({ apiUrl: 'http://127.0.0.1:9/v1' })).one
    expect(keyless.attributes['apiKey']).toBeNull()

    const changed = await svc.admin.update('provider-servers', id, { apiUrl: `${apiUrl}/other` })
    expect([changed.status, changed.one.attributes['apiUrl']]).toEqual([200, `${apiUrl}/other`])
    const { included, one } = await svc.admin.get(
      `/ai-providers/${svc.provider}?include=servers&fields[provider-servers]=apiUrl`,
    )
    expect(one.relationships?.['servers']?.data).toEqual(
      [id, keyless.id].map((id) => ({ type: 'provider-servers', id })),
    )
    expect(included.map(({ attributes }) => attributes)).toEqual([
      { apiUrl: `${apiUrl}/other` },
      { apiUrl: 'http://127.0.0.1:9/v1' },
    ])
    expect(idsOf((await svc.admin.get(`/ai-providers/${svc.provider}/servers?sort=-id`)).list)).toEqual([
      keyless.id,
      id,
    ])
    expect(idsOf((await svc.admin.get(`/provider-servers/${id}?include=provider`)).included)).toEqual([svc.provider])

    expect((await svc.admin.delete(`/provider-servers/${id}`)).status).toBe(200)
    expect(idsOf((await svc.admin.get('/provider-servers')).list)).toEqual([keyless.id])
    expect((await svc.admin.delete(`/ai-providers/${svc.provider}`)).status).toBe(200)
    expect(await svc.stored()).toEqual([])
  })

  test('nobody but administrators sees a server of a provider or writes one', async () => {
    await using svc = await startWithProvider()
    const { id } = (await svc.add({ apiKey })).one
    await svc.admin.create(
      'ai-models',
      { modelId: 'm', label: 'M', usageTypes: ['external'] },
      { provider: to('ai-providers', svc.provider) },
    )
    const before = await svc.stored()

    for (const [who, status] of [
      [svc.guest, 401],
      [svc.ada, 403],
      [svc.adminReading, 403],
    ] as const) {
      expect((await svc.add({ nonsense: 1 }, who)).status).toBe(status)
      expect((await who.update('provider-servers', id, { apiUrl: 'https://evil.example' })).status).toBe(status)
      expect((await who.delete(`/provider-servers/${id}`)).status).toBe(status)
    }
    expect(await svc.stored()).toEqual(before)
    for (const path of ['/provider-servers', `/ai-providers/${svc.provider}/servers`]) {
      const { status, list, total } = await svc.ada.get(path)
      expect([path, status, list, total]).toEqual([path, 200, [], 0])
    }
    expect((await svc.ada.get(`/provider-servers/${id}`)).status).toBe(404)
    const own = await svc.ada.get(`/ai-providers/${svc.provider}?include=servers`)
    expect([own.status, own.one.relationships?.['servers']?.data, own.included]).toEqual([200, [], []])
    for (const path of ['/provider-servers', `/provider-servers/${id}`, `/ai-providers/${svc.provider}/servers`])
      expect((await svc.guest.get(path)).status).toBe(401)
    const { id: userId } = svc.people.ada
    const { token } = await svc.host.tokens.createFor({ user: { id: userId }, name: 'asks', abilities: ['ai'] })
    expect((await clientOf(svc, token).get('/provider-servers')).status).toBe(403)
  })

  test('the key of a server is sealed in the table, and is in no answer and no line of the log', async () => {
    await using svc = await startWithProvider()
    const created = await svc.add({ apiKey })
    const { id } = created.one
    const [sealed] = await svc.stored()
    const { vault } = svc.services
    expect(vault.open(sealed?.key ?? '', FURTHER_API_KEY)).toBe(apiKey)
    expect(() => vault.open(sealed?.key ?? '', 'ai_providers.api_key')).toThrow()

    const stars = await svc.admin.update('provider-servers', id, { apiKey: '********' })
    expect([stars.status, await svc.stored()]).toEqual([200, [sealed]])
    const answers = [
      ...[created, stars, await svc.add({ apiKey: [apiKey] }), await svc.add({ apiKey, apiUrl: 'no address' })],
      ...[await svc.admin.get('/provider-servers'), await svc.admin.get('/ai-providers?include=servers')],
    ]
    for (const { text } of answers) expect(text).not.toContain(apiKey)
    expect(svc.log.join()).not.toContain(apiKey)

    await svc.admin.update('provider-servers', id, { apiKey: 'another' })
    expect(vault.open((await svc.stored())[0]?.key ?? '', FURTHER_API_KEY)).toBe('another')
    const none = await svc.admin.update('provider-servers', id, { apiKey: null })
    expect([none.one.attributes['apiKey'], (await svc.stored())[0]?.key]).toEqual([null, null])
    expect(pointersOf(await svc.admin.update('provider-servers', id, { apiKey: '********' }))).toEqual([
      '/data/attributes/apiKey',
    ])
  })

  test.for([
    ['another host', 'https://evil.example/v1'],
    ['another port', 'https://second.example.org:8443/v1'],
    ['another protocol', 'http://second.example.org/v1'],
  ])('the key of a server must be given again for %s', async ([, elsewhere]) => {
    await using svc = await startWithProvider()
    const { id } = (await svc.add({ apiKey })).one
    const before = await svc.stored()

    const refused = await svc.admin.update('provider-servers', id, { apiUrl: elsewhere })

    expect([refused.status, pointersOf(refused)]).toEqual([422, ['/data/attributes/apiUrl']])
    expect(refused.errors[0]?.detail).toBe('apiUrl leads to another server: give apiKey again, or null for none.')
    expect(await svc.stored()).toEqual(before)
    expect((await svc.admin.update('provider-servers', id, { apiUrl: elsewhere, apiKey: 'again' })).status).toBe(200)
  })

  test('mistakes about a server are named, and it stays with its provider', async () => {
    await using svc = await startWithProvider()
    const other = await addProvider(svc, 'other')
    const { id } = (await svc.add({ apiKey })).one
    const before = await svc.stored()

    expect(pointersOf(await svc.add({ apiUrl: 'file:///etc', apiKey: '' }))).toEqual(
      ['apiUrl', 'apiKey'].map((name) => `/data/attributes/${name}`),
    )
    expect((await svc.admin.create('provider-servers', { apiUrl })).status).toBe(422)
    const lost = await svc.admin.create('provider-servers', { apiUrl }, { provider: to('ai-providers', 99_999) })
    expect([lost.status, pointersOf(lost)]).toEqual([404, ['/data/relationships/provider/data']])
    expect((await svc.add({ fromFile: true })).status).toBe(403)
    const moved = await svc.admin.update('provider-servers', id, {}, { provider: to('ai-providers', other) })
    expect(moved.status).toBe(403)
    expect(await svc.stored()).toEqual(before)
  })

  test('a provider has at most 20 servers beside its own and those in the file, also where several are added at once', async () => {
    await using svc = await startWithProvider()
    await svc.rows(
      `insert into provider_servers (provider_id, api_url, from_file) select $1, $2 || n, n > 18 from generate_series(1, 25) n`,
      [svc.provider, apiUrl],
    )

    const answers = await Promise.all(Array.from({ length: 5 }, () => svc.add({})))

    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 422, 422, 422])
    expect(answers.find(({ status }) => status === 422)?.errors).toMatchObject([
      {
        detail: 'provider has at most 20 servers beside its own and those in the file.',
        source: { pointer: '/data/relationships/provider/data' },
      },
    ])
    expect(await svc.stored()).toHaveLength(27)
  })
})

describe('calls', () => {
  const authorizations = ({ asked }: { asked: { headers: { authorization?: string | undefined } }[] }) =>
    asked.map(({ headers }) => headers.authorization)

  test('go to a server from when it was added to when it is removed, on every replica and each with its own key', async () => {
    await using own = await startProvider(refuses(401))
    await using added = await startProvider()
    await using database = await cloneDatabase()
    await using empty = await configFor('', {})
    await empty.write({ providers: [] })
    const settings = {
      DATABASE_URL: database.url,
      AI_CONFIG: empty.file,
      APP_KEY: randomBytes(32).toString('base64'),
    }
    await using svc = await startJsonApi(settings)
    await using replica = await startApp(settings)
    const { admin, people } = svc
    const id = await addProvider(svc, 'mine', own.url)
    const relation = { provider: to('ai-providers', id) }
    await admin.create('ai-models', { modelId: 'new-1', label: 'New', usageTypes: ['main', 'external'] }, relation)
    const statuses = (at: readonly Pick<TestApp, 'send'>[]) =>
      Promise.all(
        at.map(async (one) => {
          const body = question('Hello', 'new-1')
          return (await one.send('POST', '/api/ai-req', { token: people.ada.token, body })).status
        }),
      )
    expect(await statuses([svc, replica])).toEqual([500, 500])

    const server = (await admin.create('provider-servers', { apiUrl: added.url, apiKey }, relation)).one.id
    expect(await statuses([svc, replica])).toEqual([200, 200])
    expect(authorizations(added)).toEqual(Array(2).fill(`Bearer ${apiKey}`))

    await admin.update('provider-servers', server, { apiKey: 'another-key' })
    expect(await statuses([svc, replica])).toEqual([200, 200])
    expect(authorizations(added).slice(2)).toEqual(Array(2).fill('Bearer another-key'))

    await admin.delete(`/provider-servers/${server}`)
    expect(await statuses([svc, replica])).toEqual([500, 500])
    expect(added.asked).toHaveLength(4)
    expect(new Set(authorizations(own))).toEqual(new Set(['Bearer own-key']))
  })

  test('go on to a server that was added where its provider is led elsewhere, and the key of each stays with its address', async () => {
    await using first = await startProvider(refuses(401))
    await using second = await startProvider(refuses(401))
    await using added = await startProvider(refuses(401))
    await using svc = await startJsonApi()
    const id = await addProvider(svc, 'mine', first.url)
    const relation = { provider: to('ai-providers', id) }
    await svc.admin.create('ai-models', { modelId: 'new-1', label: 'New', usageTypes: ['external'] }, relation)
    await svc.admin.create('provider-servers', { apiUrl: added.url, apiKey }, relation)
    const ask = () => svc.send('POST', '/api/ai-req', { token: svc.people.ada.token, body: question('Hello', 'new-1') })

    await ask()
    await svc.admin.update('ai-providers', id, { apiUrl: second.url, apiKey: 'new-own-key' })
    await ask()

    expect(authorizations(first)).toEqual(['Bearer own-key'])
    expect(authorizations(second)).toEqual(['Bearer new-own-key'])
    expect(authorizations(added)).toEqual(Array(2).fill(`Bearer ${apiKey}`))
  })
})

describe('servers in the file', () => {
  const file = (...servers: object[]) => ({
    providers: [provider('p', [model('mock-1')], { apiUrl: 'https://ai.example.org/v1', apiKey: 'own-key', servers })],
  })
  const listed = async (admin: ReturnType<typeof clientOf>) =>
    (await admin.get('/provider-servers')).list.map(({ attributes: { apiUrl, apiKey, fromFile } }) => [
      apiUrl,
      apiKey,
      fromFile,
    ])

  async function startWithFile() {
    const app = await startWith(file({ apiKey: 'twin' }, { apiUrl }))
    const { token } = await app.svc.user({ role: 'admin', abilities: ['read', 'write'] })
    const admin = clientOf(app.svc, token)
    const { list } = await admin.get('/provider-servers')
    const [of] = (await admin.get('/ai-providers')).list
    return { ...app, admin, list, provider: of?.id ?? '' }
  }

  test('are shown beside those that were added, and changed and removed in the file alone', async () => {
    await using app = await startWithFile()
    const { admin, list } = app
    expect(await listed(admin)).toEqual([
      ['https://ai.example.org/v1', '********', true],
      [apiUrl, null, true],
    ])
    const detail = 'This server stands in the file that AI_CONFIG names. Change it there.'

    for (const { id, attributes } of list) {
      const refused = [
        await admin.update('provider-servers', id, { apiKey: 'mine' }),
        await admin.update('provider-servers', id, { apiUrl: 'https://evil.example' }),
        await admin.delete(`/provider-servers/${id}`),
      ]
      for (const { status, errors } of refused) expect([status, errors[0]?.detail]).toEqual([409, detail])
      expect((await admin.update('provider-servers', id, attributes)).status).toBe(200)
    }
    expect((await admin.get('/provider-servers')).list).toEqual(list)
  })

  test('follow the file, and leave with it; those that administrators added stay', async () => {
    await using app = await startWithFile()
    const { admin } = app
    const mine = 'https://mine.example.org/v1'
    await admin.create('provider-servers', { apiUrl: mine, apiKey }, { provider: to('ai-providers', app.provider) })

    const third = { apiUrl: 'https://third.example.org/v1', apiKey: 'third' }
    for (const servers of [[third, {}, { apiUrl }], [third]]) {
      await app.svc.rows('delete from change_log')
      for (let turn = 0; turn < 2; turn++) await app.sync(file(...servers))
      // Of the provider everybody is told, once.
      expect(await app.svc.rows('select stream, kind, subject from change_log')).toEqual([
        { stream: 'all', kind: 'ai-providers.updated', subject: app.provider },
      ])
    }
    expect(await listed(admin)).toEqual([
      ['https://third.example.org/v1', '********', true],
      [mine, '********', false],
    ])
    await app.sync({ providers: [] })
    expect(await listed(admin)).toEqual([[mine, '********', false]])
    await app.sync(file({ apiKey: 'twin' }))
    expect(await listed(admin)).toEqual([
      [mine, '********', false],
      ['https://ai.example.org/v1', '********', true],
    ])
    await admin.update('ai-providers', app.provider, { apiKey: 'key-of-admin' })
    expect(await listed(admin)).toEqual([[mine, '********', false]])
  })
})
