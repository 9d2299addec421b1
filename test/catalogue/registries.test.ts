import { afterEach, describe, expect, test } from 'vitest'
import { emptyCatalogue, idsOf, startJsonApi } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)
afterEach(() => emptyCatalogue(svc))

const extension = 'test/fixtures/public-extension.ts'

describe('flags of models and capabilities of tools', () => {
  test('flags of models and capabilities of tools are built in with existing labels', async () => {
    const flags = await svc.ada.get('/ai-model-flags')
    expect(idsOf(flags.list)).toEqual([
      'open-weights',
      'eco-friendly',
      'self-hosted',
      'multi-modal',
      'strength-creative-writing',
      'strength-code-generation',
      'strength-math',
      'strength-role-playing',
      'strength-reasoning',
    ])
    const eco = await svc.ada.get('/ai-model-flags/eco-friendly')
    expect(eco.one).toEqual({
      type: 'ai-model-flags',
      id: 'eco-friendly',
      attributes: {
        titleLabel: 'ai.model.detail.flag.ecoFriendly',
        descriptionLabel: 'ai.model.detail.flag.ecoFriendlyTooltip',
        colorCode: '@success',
      },
      links: { self: '/api/svc/v1/ai-model-flags/eco-friendly' },
    })
    const capabilities = await svc.ada.get('/ai-tool-capabilities')
    expect(idsOf(capabilities.list)).toEqual(['web_search', 'web_fetch', 'knowledge_base'])
    for (const { attributes } of capabilities.list) {
      const [kind, data] = String(attributes['iconPath']).split(',')
      expect(kind).toBe('data:image/svg+xml;base64')
      expect(Buffer.from(data ?? '', 'base64').toString()).toMatch(/^<svg .*<\/svg>$/)
    }
    const { one } = await svc.ada.get('/translation-labels/en_US')
    const labels = one.attributes['labels'] as Record<string, string>
    for (const { attributes } of [...flags.list, ...capabilities.list])
      for (const name of ['titleLabel', 'descriptionLabel']) expect(labels).toHaveProperty([String(attributes[name])])
  })

  test('flags of models and capabilities of tools are extended by modules of the operator', async () => {
    await using svc = await startJsonApi({ EXTENSIONS: extension })
    expect((await svc.ada.get('/ai-model-flags/campus-made')).one.attributes).toEqual({
      titleLabel: 'campus.made',
      descriptionLabel: null,
      colorCode: '#123456',
    })
    expect((await svc.ada.get('/ai-tool-capabilities/campus_search')).status).toBe(200)
    expect((await svc.ada.get('/ai-model-flags')).list).toHaveLength(10)
  })

  const types = ['ai-model-flags', 'ai-tool-capabilities']

  test.for(types)('%s can be read by everybody signed in, and changed by nobody', async (type) => {
    for (const path of ['', '/web_search', '/nonsense', '?include=x'])
      expect((await svc.guest.get(`/${type}${path}`)).status).toBe(401)
    for (const id of ['nonsense', '__proto__', 'constructor', '1'])
      expect((await svc.ada.get(`/${type}/${id}`)).status).toBe(404)
    const change = async (method: string, path: string) =>
      (await svc.admin.send(method, `/${type}${path}`, { data: {} })).status
    expect(await change('POST', '')).toBe(405)
    expect(await change('PATCH', '/web_search')).toBe(403)
    expect(await change('DELETE', '/web_search')).toBe(405)
  })

  test.for(types)('%s are neither sorted nor paged nor filtered', async (type) => {
    for (const [query, parameter] of [
      ['sort=id', 'sort'],
      ['include=x', 'include'],
      ['page[size]=1', 'page[size]'],
      ['filter[key]=x', 'filter[key]'],
    ]) {
      const { errors } = await svc.ada.get(`/${type}?${query}`)
      expect(errors.map(({ status, source }) => [status, source])).toEqual([['400', { parameter }]])
    }
  })

  test('two modules cannot mean the same key', async () => {
    await expect(startJsonApi({ EXTENSIONS: `${extension},${extension}` })).rejects.toThrow(/Two extensions declare/)
  })
})
