import { describe, expect, test } from 'vitest'
import { buildModel, buildProvider, startWithConfig } from '../kit/ai/model-config.ts'
import { createApiClient, pointersOf } from '../kit/json-api/client.ts'

const apiUrl = 'https://second.example.org/v1'
const apiKey = 'SECRET-KEY-OF-A-SERVER'
const stars = '********'

const serversOf = ({ one }: { one: { attributes: Record<string, unknown> } }) => one.attributes['servers']

describe('servers in the file', () => {
  const file = (...servers: object[]) => ({
    providers: [
      buildProvider('p', [buildModel('mock-1')], { apiUrl: 'https://ai.example.org/v1', apiKey: 'own-key', servers }),
    ],
  })
  const mine = 'https://mine.example.org/v1'

  async function startWithFile() {
    const app = await startWithConfig(file({ apiKey: 'twin' }, { apiUrl }))
    const { token } = await app.svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })
    const admin = createApiClient(app.svc, token)
    const [of] = (await admin.get('/ai-providers')).list
    const path = `/ai-providers/${of?.id}`
    return {
      ...app,
      admin,
      path,
      provider: of?.id ?? '',
      listServers: async () => serversOf(await admin.get(path)),
      set: (servers: object[]) => admin.update('ai-providers', of?.id ?? '', { servers }),
    }
  }

  const fileServers = [
    { apiUrl: 'https://ai.example.org/v1', apiKey: stars, fromFile: true },
    { apiUrl, apiKey: null, fromFile: true },
  ]
  const addedServer = { apiUrl: mine, apiKey: stars, fromFile: false }

  test('are shown first, and stay whether they are sent back or left out', async () => {
    await using app = await startWithFile()
    expect(await app.listServers()).toEqual(fileServers)

    for (const list of [[...fileServers, { apiUrl: mine, apiKey }], [addedServer], [addedServer, fileServers[1]!]]) {
      const set = await app.set(list)
      expect([set.status, serversOf(set)]).toEqual([200, [...fileServers, addedServer]])
    }
    expect(serversOf(await app.set([]))).toEqual(fileServers)
  })

  test('are changed in the file alone', async () => {
    await using app = await startWithFile()
    const [first, second] = fileServers as [object, object]

    for (const changed of [
      { ...first, apiKey: 'mine' },
      { ...first, apiKey: null },
      { ...first, apiUrl: 'https://evil.example' },
      { ...second, apiKey: stars },
    ]) {
      const { status, errors } = await app.set([{ apiUrl: mine, apiKey }, changed])
      const pointer = '/data/attributes/servers/1'
      expect([status, errors.map(({ source }) => source)]).toEqual([422, [{ pointer }]])
      expect(errors[0]?.detail).toMatch(/differs from the file that AI_CONFIG names: change it there\.$/)
    }
    expect(await app.listServers()).toEqual(fileServers)
    const copied = await app.set([{ apiUrl: 'https://ai.example.org/v1', apiKey: stars }])
    expect(pointersOf(copied)).toEqual(['/data/attributes/servers/0/apiKey'])
  })

  test('follow the file, and leave with it; those that administrators set stay', async () => {
    await using app = await startWithFile()
    const { admin } = app
    await app.set([{ apiUrl: mine, apiKey }])

    const third = { apiUrl: 'https://third.example.org/v1', apiKey: 'third' }
    for (const servers of [[third, {}, { apiUrl }], [third]]) {
      await app.svc.rows('delete from change_log')
      for (let turn = 0; turn < 2; turn++) await app.sync(file(...servers))
      // The change of the provider is published to everybody exactly once.
      expect(await app.svc.rows("select stream, kind, subject from change_log where stream <> 'admins'")).toEqual([
        { stream: 'all', kind: 'ai-providers.updated', subject: app.provider },
      ])
    }
    expect(await app.listServers()).toEqual([{ ...third, apiKey: stars, fromFile: true }, addedServer])
    await app.sync({ providers: [] })
    expect(await app.listServers()).toEqual([addedServer])
    await app.sync(file({ apiKey: 'twin' }))
    expect(await app.listServers()).toEqual([fileServers[0], addedServer])
    await admin.update('ai-providers', app.provider, { apiKey: 'key-of-admin' })
    expect(await app.listServers()).toEqual([addedServer])
  })

  test.for([
    ['one more', file({ apiKey: 'twin' }, { apiUrl }, { apiUrl: mine })],
    ['another key', file({ apiKey: 'another' }, { apiUrl })],
    ['none', file()],
    ['no provider', { providers: [] }],
  ] as const)('refuse a change that is based on an earlier state of the file: %s', async ([, changed]) => {
    await using app = await startWithFile()
    const tag = (await app.admin.get(app.path)).headers.get('etag') ?? ''
    const data = { type: 'ai-providers', id: app.provider, attributes: { servers: [] } }
    await app.sync(file({ apiKey: 'twin' }, { apiUrl }))
    expect((await app.admin.get(app.path)).headers.get('etag')).toBe(tag)

    await app.sync(changed)

    expect((await app.admin.send('PATCH', app.path, { data }, { 'if-match': tag })).status).toBe(412)
  })
})
