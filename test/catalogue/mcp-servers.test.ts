import { afterEach, describe, expect, test } from 'vitest'
import { SERVER_CONFIG, SERVER_KEY } from '../../routers/ports/vault.ts'
import { addCatalogue, emptyCatalogue, idsOf, pointersOf, startJsonApi } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)
afterEach(() => emptyCatalogue(svc))

const attributes = { url: 'https://tools.example.org/mcp', serverLabel: 'Tools' }

describe('tool servers', () => {
  test('everybody who is signed in sees them with the tools that are active', async () => {
    const { tool, server } = await addCatalogue(svc)
    const { list, included, total } = await svc.ada.get('/mcp-servers?include=tools')
    expect([idsOf(list), total]).toEqual([[server.up, server.down], 2])
    expect(included.map(({ type, id }) => [type, id])).toEqual([
      ['ai-tools', tool.fetch],
      ['ai-tools', tool.loose],
    ])
    expect(Object.keys(list[0]?.attributes ?? {}).sort()).toEqual(
      ['createdAt', 'description', 'requireApproval', 'serverLabel', 'status', 'updatedAt'].sort(),
    )
    expect(idsOf((await svc.admin.get(`/mcp-servers/${server.up}/tools`)).list)).toEqual([tool.fetch, tool.off])
    for (const path of ['', '?include=tools', `/${server.up}`, `/${server.up}/tools`])
      expect((await svc.guest.get(`/mcp-servers${path}`)).status).toBe(401)
  })

  test('tool servers keep the key and the additional configuration to themselves', async () => {
    const [key, header] = ['SECRET-KEY-OF-TOOLS', 'SECRET-HEADER-OF-TOOLS']
    const created = await svc.admin.create('mcp-servers', {
      ...attributes,
      apiKey: key,
      additionalConfig: { headers: { 'x-token': header } },
    })
    expect(created.one.attributes).toMatchObject({ apiKey: '********', additionalConfig: '********' })
    const { id } = created.one
    const stored = async () =>
      (
        await svc.rows<Record<'key' | 'config', string | null>>(
          'select api_key as key, additional_config as config from mcp_servers',
        )
      )[0]
    const { vault } = svc.services
    const sealed = await stored()
    expect(vault.open(sealed?.key ?? '', SERVER_KEY)).toBe(key)
    expect(JSON.parse(vault.open(sealed?.config ?? '', SERVER_CONFIG))).toEqual({ headers: { 'x-token': header } })
    expect(() => vault.open(sealed?.key ?? '', SERVER_CONFIG)).toThrow()
    const renamed = await svc.admin.update('mcp-servers', id, { serverLabel: 'Renamed' })
    expect(await stored()).toEqual(sealed)
    const stars = await svc.admin.update('mcp-servers', id, { apiKey: '********', additionalConfig: '********' })
    expect([stars.status, await stored()]).toEqual([200, sealed])
    for (const { text } of [
      created,
      renamed,
      stars,
      await svc.admin.get('/mcp-servers'),
      await svc.admin.get(`/mcp-servers/${id}`),
    ])
      expect(text).not.toMatch(/SECRET/)
    const replaced = await svc.admin.update('mcp-servers', id, { apiKey: 'other', additionalConfig: null })
    expect(replaced.one.attributes).toMatchObject({ apiKey: '********', additionalConfig: null })
    expect(vault.open((await stored())?.key ?? '', SERVER_KEY)).toBe('other')
    const removed = await svc.admin.update('mcp-servers', id, { apiKey: null })
    expect(removed.one.attributes['apiKey']).toBeNull()
    const noStars = await svc.admin.update('mcp-servers', id, { apiKey: '********', additionalConfig: '********' })
    expect(pointersOf(noStars)).toEqual(['/data/attributes/apiKey', '/data/attributes/additionalConfig'])
    expect(svc.log.join()).not.toMatch(/SECRET/)
  })

  test.for([
    ['http elsewhere', 'http://tools.example.org/mcp', 'must begin with https://, or lead to this machine'],
    ['a name and a password', 'https://name:word@tools.example.org/mcp', 'must have no name and no password'],
    ['a wildcard', 'https://*.example.org/mcp', 'must have no *'],
  ])('the address of a tool server is refused with %s', async ([, url, message]) => {
    const refusal = await svc.admin.create('mcp-servers', { ...attributes, url })

    expect([refusal.status, pointersOf(refusal)]).toEqual([422, ['/data/attributes/url']])
    expect(refusal.errors[0]?.detail).toContain(message)
  })

  test('one server has one address, however it is written', async () => {
    const { one } = await svc.admin.create('mcp-servers', {
      ...attributes,
      url: 'HTTPS://Tools.example.org:443/a/../mcp',
    })

    expect(one.attributes['url']).toBe(attributes.url)
    expect((await svc.admin.create('mcp-servers', attributes)).status).toBe(409)
  })

  test('administrators create, change and delete tool servers, whose tools go with them', async () => {
    const { server, tool } = await addCatalogue(svc)
    const created = await svc.admin.create('mcp-servers', { ...attributes, timeouts: { read: 500 } })
    expect([created.status, created.headers.get('location'), created.meta]).toEqual([
      201,
      created.one.links['self'],
      { _svc_sync_log: [] },
    ])
    expect(created.one.attributes).toMatchObject({
      ...attributes,
      transport: 'http',
      requireApproval: 'never',
      description: null,
      timeouts: { read: 500 },
    })
    expect((await svc.admin.create('mcp-servers', attributes)).status).toBe(409)
    const wrong = await svc.admin.create('mcp-servers', {
      url: '',
      serverLabel: 1,
      transport: 'x',
      requireApproval: 'sometimes',
      timeouts: { read: -1 },
    })
    expect([wrong.status, pointersOf(wrong)]).toEqual([
      422,
      ['serverLabel', 'requireApproval', 'transport', 'url', 'timeouts/read'].map((name) => `/data/attributes/${name}`),
    ])
    expect(
      (await svc.admin.update('mcp-servers', created.one.id, { serverLabel: 'New' })).one.attributes['serverLabel'],
    ).toBe('New')
    expect((await svc.admin.delete(`/mcp-servers/${server.up}`)).meta).toEqual({ _svc_sync_log: [] })
    expect((await svc.ada.get(`/ai-tools/${tool.fetch}`)).status).toBe(404)
    const left = await svc.ada.get(`/ai-tools/${tool.search}`)
    expect([left.one.relationships?.['server']?.data, left.one.attributes['status']]).toEqual([null, 'online'])
    const none = await svc.ada.get(`/ai-tools/${tool.search}/server`)
    expect([none.status, none.one]).toEqual([200, null])
    for (const [who, status] of [
      [svc.guest, 401],
      [svc.ada, 403],
      [svc.adminReading, 403],
    ] as const) {
      expect((await who.create('mcp-servers', { nonsense: 1 })).status).toBe(status)
      expect((await who.update('mcp-servers', server.down, { serverLabel: 'Mine' })).status).toBe(status)
      expect((await who.delete(`/mcp-servers/${server.down}`)).status).toBe(status)
    }
  })
})
