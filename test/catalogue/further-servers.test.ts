import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { FURTHER_API_KEY } from '../../routers/ports/vault.ts'
import { buildQuestion, refuses, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'
import { emptyCatalogue, type JsonApiApp, pointersOf, startJsonApi, toOne } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const apiUrl = 'https://second.example.org/v1'
const apiKey = 'SECRET-KEY-OF-A-SERVER'
const stars = '********'

async function addProvider({ admin }: Pick<JsonApiApp, 'admin'>, own = 'https://ai.example.org/v1') {
  const given = { providerId: 'mine', name: 'Mine', adapter: 'openai-compatible', apiUrl: own, apiKey: 'own-key' }
  return (await admin.create('ai-providers', given)).one.id
}

const serversOf = ({ one }: { one: { attributes: Record<string, unknown> } }) => one.attributes['servers']

const svc = shareResource(startJsonApi)
afterEach(() => emptyCatalogue(svc))

/** Creates a provider as an administrator, with functions that set and read its servers. */
async function prepareProvider() {
  const id = await addProvider(svc)
  const set = (servers: unknown, who = svc.admin) => who.update('ai-providers', id, { servers })
  const stored = () =>
    svc.rows<{ url: string; key: string | null }>(
      'select api_url as url, api_key as key from provider_servers order by id',
    )
  return {
    provider: id,
    set,
    stored,
    /** Reads the opened keys of the servers in their order. */
    keys: async () =>
      (await stored()).map(({ key }) => (key === null ? null : svc.services.vault.open(key, FURTHER_API_KEY))),
  }
}

describe('servers of a provider', () => {
  test('administrators create, find, change and remove the servers of a provider', async () => {
    const own = await prepareProvider()
    expect(serversOf(await svc.admin.get(`/ai-providers/${own.provider}`))).toEqual([])
    const [one, two] = ['https://one.example.org/v1', 'http://127.0.0.1:9/v1']

    const set = await own.set([
      { apiUrl: one, apiKey },
      { apiUrl: two, apiKey: null },
    ])
    const shown = [
      { apiUrl: one, apiKey: stars, fromFile: false },
      { apiUrl: two, apiKey: null, fromFile: false },
    ]
    expect([set.status, serversOf(set)]).toEqual([200, shown])
    const { list } = await svc.admin.get('/ai-providers?fields[ai-providers]=servers')
    expect(list.map(({ attributes }) => attributes)).toEqual([{ servers: shown }])

    const turned = await own.set([shown[1], { apiUrl, apiKey: 'third' }, { apiUrl: one }])
    expect(serversOf(turned)).toEqual([shown[1], { apiUrl, apiKey: stars, fromFile: false }, shown[0]])
    expect(await own.keys()).toEqual([null, 'third', apiKey])
    expect(serversOf(await svc.admin.update('ai-providers', own.provider, { name: 'Other' }))).toHaveLength(3)

    expect(serversOf(await own.set([]))).toEqual([])
    const made = await svc.admin.create('ai-providers', {
      providerId: 'other',
      name: 'Other',
      adapter: 'demo',
      servers: [{ apiUrl, apiKey }],
    })
    expect([made.status, serversOf(made), await own.keys()]).toEqual([
      201,
      [{ apiUrl, apiKey: stars, fromFile: false }],
      [apiKey],
    ])
    expect((await svc.admin.delete(`/ai-providers/${made.one.id}`)).status).toBe(200)
    expect(await own.stored()).toEqual([])
  })

  test('only administrators see and change the servers of a provider', async () => {
    const own = await prepareProvider()
    await own.set([{ apiUrl, apiKey }])
    await svc.admin.create(
      'ai-models',
      { modelId: 'm', label: 'M', usageTypes: ['external'] },
      { provider: toOne('ai-providers', own.provider) },
    )
    const before = await own.stored()

    for (const [who, status] of [
      [svc.guest, 401],
      [svc.ada, 403],
      [svc.adminReading, 403],
    ] as const)
      for (const servers of [[], [{ apiUrl: 'https://evil.example', apiKey: 'k' }], 'nonsense'])
        expect((await own.set(servers, who)).status).toBe(status)
    expect(await own.stored()).toEqual(before)
    for (const path of ['/ai-providers', `/ai-providers/${own.provider}`, '/ai-models?include=provider']) {
      const { status, text } = await svc.ada.get(path)
      expect([path, status, text.includes('servers'), text.includes(apiUrl)]).toEqual([path, 200, false, false])
    }
  })

  test('the key of a server is sealed in the table, and never shown', async () => {
    const own = await prepareProvider()
    const created = await own.set([{ apiUrl, apiKey }])
    const [sealed] = await own.stored()
    expect(await own.keys()).toEqual([apiKey])
    expect(() => svc.services.vault.open(sealed?.key ?? '', 'ai_providers.api_key')).toThrow()

    const answers = [
      created,
      await own.set([{ apiUrl, apiKey: [apiKey] }]),
      await own.set([{ apiUrl: 'no address', apiKey }]),
      await own.set([{ apiUrl, apiKey: stars, fromFile: false }]),
      await own.set([{ apiUrl }]),
      await svc.admin.get('/ai-providers'),
    ]
    for (const { text } of answers) expect(text).not.toContain(apiKey)
    expect(svc.log.join()).not.toContain(apiKey)
    expect(await own.stored()).toEqual([sealed])

    await own.set([{ apiUrl, apiKey: 'another' }])
    expect(await own.keys()).toEqual(['another'])
    expect(serversOf(await own.set([{ apiUrl, apiKey: null }]))).toEqual([{ apiUrl, apiKey: null, fromFile: false }])
    expect(await own.keys()).toEqual([null])
  })

  test.for([
    ['another host', 'https://evil.example/v1'],
    ['another port', 'https://second.example.org:8443/v1'],
    ['another protocol', 'http://second.example.org/v1'],
    ['another path', 'https://second.example.org/other'],
  ])('the key of a server must be given again for %s', async ([, elsewhere]) => {
    const own = await prepareProvider()
    await own.set([{ apiUrl, apiKey }])
    const before = await own.stored()

    for (const [server, member] of [
      [{ apiUrl: elsewhere }, ''],
      [{ apiUrl: elsewhere, apiKey: stars }, '/apiKey'],
    ] as const) {
      const refusal = await own.set([{ apiUrl }, server])
      expect([refusal.status, pointersOf(refusal)]).toEqual([422, [`/data/attributes/servers/1${member}`]])
      expect(refusal.errors[0]?.detail).toMatch(/must be given for another address, or null for none\.$/)
    }
    expect(await own.stored()).toEqual(before)
    expect((await own.set([{ apiUrl: elsewhere, apiKey: 'again' }])).status).toBe(200)
    expect(await own.keys()).toEqual(['again'])
  })

  test('the keys of several servers at one address are kept together, or given again', async () => {
    const own = await prepareProvider()
    const [first, second] = ['first', 'second'].map((key) => ({ apiUrl, apiKey: key }))
    const kept = { apiUrl, apiKey: stars }
    await own.set([first, second])

    expect((await own.set([kept, { apiUrl, apiKey: 'third' }, { apiUrl }])).status).toBe(200)
    expect(await own.keys()).toEqual(['first', 'third', 'second'])
    const refusal = await own.set([kept, second])
    expect([refusal.status, pointersOf(refusal)]).toEqual([422, ['/data/attributes/servers/0/apiKey']])
    expect(refusal.errors[0]?.detail).toContain('it is not clear which of the keys of this address is meant')
    expect(await own.keys()).toEqual(['first', 'third', 'second'])
    expect((await own.set([second])).status).toBe(200)
    expect(await own.keys()).toEqual(['second'])
  })

  test('mistakes about servers are named, and change nothing', async () => {
    const own = await prepareProvider()
    await own.set([{ apiUrl, apiKey }])
    const before = await own.stored()

    for (const [servers, ...members] of [
      [[{ apiUrl: 'file:///etc', apiKey: '' }], '/0/apiUrl', '/0/apiKey'],
      [[{ apiUrl: 'https://ada:secret@second.example.org', apiKey }], '/0/apiUrl'],
      [[{ apiUrl }, { apiKey }], '/1'],
      [[{ apiUrl, colour: 'red' }], '/0/colour'],
      [[{ apiUrl: apiUrl.padEnd(2049, 'x'), apiKey }], '/0/apiUrl'],
      [[{ apiUrl, fromFile: true }], '/0'],
      ['nonsense', ''],
      [null, ''],
    ] as const) {
      const { status, errors } = await own.set(servers)
      const pointers = errors.map(({ source }) => source?.['pointer'])
      expect([servers, status, pointers]).toEqual([servers, 422, members.map((m) => `/data/attributes/servers${m}`)])
    }
    expect(await own.stored()).toEqual(before)
  })

  test('a provider has at most 20 added servers, also after concurrent additions', async () => {
    const own = await prepareProvider()
    await svc.rows(
      `insert into provider_servers (provider_id, api_url, from_file) select $1, $2 || n, true from generate_series(1, 20) n`,
      [own.provider, apiUrl],
    )
    const file = serversOf(await svc.admin.get(`/ai-providers/${own.provider}`)) as object[]
    const many = (count: number, name: string) =>
      Array.from({ length: count }, (_, at) => ({
        apiUrl: `https://${name}.example.org/${at}`,
        apiKey: `${name} ${at}`,
      }))

    for (const list of [many(21, 'more'), [...file, ...many(21, 'more')]]) {
      const refusal = await own.set(list)
      expect([refusal.status, pointersOf(refusal)]).toEqual([422, ['/data/attributes/servers']])
      expect(refusal.errors[0]?.detail).toBe('servers must be at most 20 beside those in the file.')
    }
    expect((await own.set([...file, ...many(20, 'all')])).status).toBe(200)
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((name) => own.set(many(12, name))))

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(await own.stored()).toHaveLength(32)
    expect(new Set((await own.keys()).map((key) => key?.split(' ')[0])).size).toBe(2)
  })

  test("a change of a provider's servers is refused when based on old ones", async () => {
    const own = await prepareProvider()
    const path = `/ai-providers/${own.provider}`
    const tag = (await svc.admin.get(path)).headers.get('etag') ?? ''
    const insist = (servers: object[]) => {
      const data = { type: 'ai-providers', id: own.provider, attributes: { servers } }
      return svc.admin.send('PATCH', path, { data }, { 'if-match': tag })
    }

    const answers = await Promise.all(
      ['a', 'b', 'c'].map((name) => insist([{ apiUrl: `https://${name}.example.org`, apiKey }])),
    )

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412])
    expect(await own.stored()).toHaveLength(1)
    expect((await insist([])).status).toBe(412)
  })

  test('changed servers of a provider are announced to everybody, and unchanged ones not', async () => {
    const own = await prepareProvider()
    const changesAfter = async (servers: object[]) => {
      await svc.rows('delete from change_log')
      expect((await own.set(servers)).status).toBe(200)
      return svc.rows("select stream, kind, subject from change_log where stream <> 'admins'")
    }

    const update = [{ stream: 'all', kind: 'ai-providers.updated', subject: own.provider }]
    expect(await changesAfter([{ apiUrl, apiKey }])).toEqual(update)
    expect(await changesAfter([{ apiUrl, apiKey: 'another' }])).toEqual(update)
    expect(await changesAfter([{ apiUrl, apiKey: stars, fromFile: false }])).toEqual([])
    expect(await changesAfter([])).toEqual(update)
  })
})

describe('calls', () => {
  const authorizations = ({ requests }: { requests: { headers: { authorization?: string | undefined } }[] }) =>
    requests.map(({ headers }) => headers.authorization)

  test('reach an added server on every replica with its key until its removal', async () => {
    await using own = await startProvider(refuses(401))
    await using added = await startProvider()
    await using database = await cloneDatabase()
    await using empty = await writeConfig('', {})
    await empty.write({ providers: [] })
    const settings = {
      DATABASE_URL: database.url,
      AI_CONFIG: empty.file,
      APP_KEY: randomBytes(32).toString('base64'),
    }
    await using svc = await startJsonApi(settings)
    await using replica = await startApp(settings)
    const { admin, people } = svc
    const id = await addProvider(svc, own.url)
    const relation = { provider: toOne('ai-providers', id) }
    await admin.create('ai-models', { modelId: 'new-1', label: 'New', usageTypes: ['main', 'external'] }, relation)
    const statuses = (at: readonly Pick<TestApp, 'send'>[]) =>
      Promise.all(
        at.map(async (one) => {
          const body = buildQuestion('Hello', 'new-1')
          return (await one.send('POST', '/api/ai-req', { token: people.ada.token, body })).status
        }),
      )
    expect(await statuses([svc, replica])).toEqual([500, 500])

    await admin.update('ai-providers', id, { servers: [{ apiUrl: added.url, apiKey }] })
    expect(await statuses([svc, replica])).toEqual([200, 200])
    expect(authorizations(added)).toEqual(Array(2).fill(`Bearer ${apiKey}`))

    await admin.update('ai-providers', id, { servers: [{ apiUrl: added.url, apiKey: 'another-key' }] })
    expect(await statuses([svc, replica])).toEqual([200, 200])
    expect(authorizations(added).slice(2)).toEqual(Array(2).fill('Bearer another-key'))

    await admin.update('ai-providers', id, { servers: [] })
    expect(await statuses([svc, replica])).toEqual([500, 500])
    expect(added.requests).toHaveLength(4)
    expect(new Set(authorizations(own))).toEqual(new Set(['Bearer own-key']))
  })

  test("stay at an added server with its key when the provider's address changes", async () => {
    await using first = await startProvider(refuses(401))
    await using second = await startProvider(refuses(401))
    await using added = await startProvider(refuses(401))
    const id = await addProvider(svc, first.url)
    const relation = { provider: toOne('ai-providers', id) }
    await svc.admin.create('ai-models', { modelId: 'new-1', label: 'New', usageTypes: ['external'] }, relation)
    await svc.admin.update('ai-providers', id, { servers: [{ apiUrl: added.url, apiKey }] })
    const sendQuestion = () =>
      svc.send('POST', '/api/ai-req', { token: svc.people.ada.token, body: buildQuestion('Hello', 'new-1') })

    await sendQuestion()
    await svc.admin.update('ai-providers', id, { apiUrl: second.url, apiKey: 'new-own-key' })
    await sendQuestion()

    expect(authorizations(first)).toEqual(['Bearer own-key'])
    expect(authorizations(second)).toEqual(['Bearer new-own-key'])
    expect(authorizations(added)).toEqual(Array(2).fill(`Bearer ${apiKey}`))
  })
})
