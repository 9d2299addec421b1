// @module-tag debian

import { afterEach, describe, expect, test } from 'vitest'
import { addCatalogue, emptyCatalogue, pointersOf, startJsonApi, toMany, toOne } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)
afterEach(() => emptyCatalogue(svc))

describe('models', () => {
  test('an administrator creates, changes and deletes a model', async () => {
    const { provider, tool } = await addCatalogue(svc)
    const attributes = {
      modelId: 'new-1',
      label: 'New one',
      input: ['text', 'image', 'text'],
      output: ['text'],
      parameters: { temperature: 0.5 },
      settings: { toolCalling: true },
      nativeCapabilities: ['Web_Search', 'web_search'],
      flags: ['Open-Weights'],
      limits: { maxInputTokens: 1000 },
      pricing: { free: true },
      documentationUrl: 'https://example.org/new-1',
      deprecationDate: '2027-01-01T00:00:00.120Z',
      usageTypes: ['external'],
    }
    const relations = {
      provider: toOne('ai-providers', provider.open),
      tools: toMany('ai-tools', [tool.search, tool.search]),
    }
    const created = await svc.admin.create('ai-models', attributes, relations)
    expect(created.status).toBe(201)
    expect(created.headers.get('location')).toBe(created.one.links['self'])
    expect(created.meta).toEqual({ _svc_sync_log: [] })
    expect(created.one.attributes).toMatchObject({
      ...attributes,
      input: ['text', 'image'],
      nativeCapabilities: ['web_search'],
      flags: ['open-weights'],
      modelType: 'chat',
      active: true,
      status: 'unknown',
      upstreamId: null,
      toolIds: [Number(tool.search)],
    })
    const { id } = created.one
    expect((await svc.ada.get(`/ai-models/${id}`)).status).toBe(200)

    const changed = await svc.admin.update('ai-models', id, {
      label: 'Newer',
      usageTypes: ['main'],
      limits: null,
      deprecationDate: '2028-01-01T00:00:00.000Z',
    })
    expect([changed.status, changed.meta]).toEqual([200, { _svc_sync_log: [] }])
    expect(changed.one.attributes).toMatchObject({
      label: 'Newer',
      modelId: 'new-1',
      usageTypes: ['main'],
      limits: null,
      deprecationDate: '2028-01-01T00:00:00.000Z',
    })
    expect((await svc.ada.get(`/ai-models/${id}`)).status).toBe(404)

    const moved = await svc.admin.update(
      'ai-models',
      id,
      {},
      {
        provider: toOne('ai-providers', provider.inner),
        tools: toMany('ai-tools', [tool.fetch]),
      },
    )
    expect(moved.one.relationships?.['provider']?.data).toEqual({ type: 'ai-providers', id: provider.inner })
    expect(moved.one.attributes['toolIds']).toEqual([Number(tool.fetch)])

    const deleted = await svc.admin.delete(`/ai-models/${id}`)
    expect([deleted.status, deleted.meta, deleted.one]).toEqual([200, { _svc_sync_log: [] }, undefined])
    expect((await svc.admin.delete(`/ai-models/${id}`)).status).toBe(404)
    expect((await svc.admin.update('ai-models', id, { label: 'x' })).status).toBe(404)
  })

  test('an administrator names fallback models, which nobody else can read', async () => {
    const { model } = await addCatalogue(svc)
    const names = async (id: string) => String((await svc.admin.get(`/ai-models/${id}`)).one.attributes['modelId'])
    const [external, main] = [await names(model.external), await names(model.main)]
    const write = (id: string, fallback: unknown) => svc.admin.update('ai-models', id, { fallback })

    const written = await write(model.external, [main, main])
    expect([written.status, written.one.attributes['fallback']]).toEqual([200, [main]])
    // Two models may be each other's fallback, as the fallback of a fallback is not followed.
    expect((await write(model.main, [external])).status).toBe(200)
    expect((await svc.ada.get(`/ai-models/${model.external}`)).one.attributes).not.toHaveProperty('fallback')

    for (const [fallback, ...at] of [
      [[main, 'nobody'], '/data/attributes/fallback/1'],
      [[external], '/data/attributes/fallback'],
      [['a', 'b', 'c', 'd', 'e', 'f'], '/data/attributes/fallback'],
      [[''], '/data/attributes/fallback/0'],
      [main, '/data/attributes/fallback'],
    ] as const) {
      const expectRefusal = await write(model.external, fallback)
      expect([fallback, expectRefusal.status, pointersOf(expectRefusal)]).toEqual([fallback, 422, at])
    }
    expect((await svc.admin.get(`/ai-models/${model.external}`)).one.attributes['fallback']).toEqual([main])
    const renamed = await svc.admin.update('ai-models', model.external, { modelId: main })
    expect([renamed.status, pointersOf(renamed)]).toEqual([422, ['/data/attributes/modelId']])
  })

  test('models says where a body is wrong, at a place that the body has', async () => {
    const { provider, model } = await addCatalogue(svc)
    const provided = { provider: toOne('ai-providers', provider.open) }
    const fine = { modelId: 'fine', label: 'Fine' }
    const refused = async (attributes: object, relationships: object | undefined, status: number, ...at: string[]) => {
      const answer = await svc.admin.create('ai-models', attributes, relationships)
      expect([answer.status, pointersOf(answer)]).toEqual([status, at])
    }
    await refused({ ...fine, label: '' }, provided, 422, '/data/attributes/label')
    await refused(
      { ...fine, label: 7, active: 'yes' },
      provided,
      422,
      '/data/attributes/active',
      '/data/attributes/label',
    )
    await refused({ ...fine, nonsense: 1 }, provided, 422, '/data/attributes/nonsense')
    await refused({ ...fine, constructor: 1 }, provided, 422, '/data/attributes/constructor')
    await refused({ ...fine, status: 'online' }, provided, 403, '/data/attributes/status')
    await refused({ ...fine, id: '5' }, provided, 422, '/data/attributes/id')
    await refused({ ...fine, ifVersion: '5' }, provided, 422, '/data/attributes/ifVersion')
    await refused({ ...fine, provider: '5' }, provided, 422, '/data/attributes/provider')
    await refused({ ...fine, tools: ['5'] }, provided, 422, '/data/attributes/tools')
    await refused({ ...fine, limits: { maxInputTokens: 0 } }, provided, 422, '/data/attributes/limits/maxInputTokens')
    await refused({ ...fine, settings: { nonsense: 1 } }, provided, 422, '/data/attributes/settings/nonsense')
    await refused(
      { ...fine, parameters: { temperature: 'hot' } },
      provided,
      422,
      '/data/attributes/parameters/temperature',
    )
    await refused({ ...fine, documentationUrl: 'javascript:1' }, provided, 422, '/data/attributes/documentationUrl')
    const yearZero = { ...fine, deprecationDate: '0000-01-01T00:00:00.000Z' }
    await refused(yearZero, provided, 422, '/data/attributes/deprecationDate')
    await refused({ ...fine, label: 'a\u0000b' }, provided, 422, '/data/attributes/label')
    await refused({ ...fine, parameters: { a: 'a\u0000b' } }, provided, 422, '/data/attributes/parameters/a')
    await refused({ ...fine, parameters: { a: '\ud800' } }, provided, 422, '/data/attributes/parameters/a')
    await refused(fine, undefined, 422, '/data')
    await refused(fine, { provider: { data: null } }, 422, '/data/relationships/provider/data')
    await refused(fine, { provider: toMany('ai-providers', [provider.open]) }, 422, '/data/relationships/provider/data')
    await refused(fine, { provider: toOne('ai-tools', provider.open) }, 422, '/data/relationships/provider/data')
    await refused(fine, { provider: toOne('ai-providers', 'abc') }, 422, '/data/relationships/provider/data')
    await refused(fine, { ...provided, nonsense: toOne('ai-tools', 1) }, 422, '/data/relationships/nonsense')
    await refused(
      fine,
      { ...provided, descriptions: toMany('ai-model-descriptions', [1]) },
      403,
      '/data/relationships/descriptions/data',
    )
    await refused(fine, { provider: toOne('ai-providers', 99999) }, 404, '/data/relationships/provider/data')
    await refused(fine, { ...provided, tools: toMany('ai-tools', [99999]) }, 404, '/data/relationships/tools/data/0')
    await refused({ ...fine, modelId: 'external' }, provided, 409, '/data/attributes/modelId')
    expect((await svc.admin.update('ai-models', model.main, { modelId: 'external' })).status).toBe(409)
    expect((await svc.admin.get('/ai-models')).total).toBe(5)
  })

  test('the ranges of a price share one currency and follow one another from 0', async () => {
    const { model } = await addCatalogue(svc)
    const costs = { inputCostPerToken: 0.000001, outputCostPerToken: 0.000002 }
    const others = { inputCostPerCachedToken: null, outputCostPerReasoningToken: null }
    const over = (from: number, to: number | null, currency = 'EUR') => ({
      currency,
      ...costs,
      ...others,
      range: [from, to],
    })
    const write = async (...ranges: object[]) => {
      const pricing = { ranges, priorityRanges: null }
      const answer = await svc.admin.update('ai-models', model.main, { pricing })
      return [answer.status, ...pointersOf(answer)]
    }
    const readPricing = async () => (await svc.admin.get(`/ai-models/${model.main}`)).one.attributes['pricing']
    const at = (path: string) => `/data/attributes/pricing/ranges/${path}`

    expect(await write(over(0, 100), over(100, 200), over(200, 300))).toEqual([200])
    expect(await write(over(0, 100), over(100, null))).toEqual([200])

    expect(await write(over(0, 100), over(100, null, 'USD'))).toEqual([422, at('1/currency')])
    expect(await write(over(0, 100), over(200, null))).toEqual([422, at('1/range/0')])
    expect(await write(over(0, 100), over(50, null))).toEqual([422, at('1/range/0')])
    expect(await write(over(0, null), over(100, null))).toEqual([422, at('1/range/0')])
    expect(await write(over(1, null))).toEqual([422, at('0/range/0')])
    expect(await write(over(0, 100), over(100, 50))).toEqual([422, at('1/range/1')])
    expect(await write(over(0, 0))).toEqual([422, at('0/range/1')])
    expect(await readPricing()).toEqual({ ranges: [over(0, 100), over(100, null)], priorityRanges: null })

    const worse = { ranges: [over(1, 100), over(200, null, 'USD')], priorityRanges: null }
    await svc.rows(`update ai_models set pricing = '${JSON.stringify(worse)}' where id = ${model.main}`)
    expect((await svc.admin.update('ai-models', model.main, { label: 'Renamed' })).status).toBe(200)
    expect(await readPricing()).toEqual(worse)
  })

  test('type and id must be those of the address, and the server gives ids', async () => {
    const { model } = await addCatalogue(svc)
    const at = `/ai-models/${model.main}`
    const send = async (method: 'POST' | 'PATCH', path: string, data: unknown) => {
      const answer = await svc.admin.send(method, path, { data })
      return [answer.status, pointersOf(answer)[0]]
    }
    expect(await send('PATCH', at, { type: 'ai-tools', id: model.main })).toEqual([409, '/data/type'])
    expect(await send('PATCH', at, { type: 'ai-models', id: '99' })).toEqual([409, '/data/id'])
    expect(await send('PATCH', at, { type: 'ai-models' })).toEqual([422, '/data'])
    expect(await send('PATCH', at, { type: 'ai-models', id: 5 })).toEqual([422, '/data/id'])
    expect(await send('PATCH', at, [{ type: 'ai-models', id: model.main }])).toEqual([422, '/data'])
    expect(await send('POST', '/ai-models', { type: 'ai-models', id: '7', attributes: {} })).toEqual([403, '/data/id'])
    expect(await send('POST', '/ai-models', { type: 'ai-tools', attributes: {} })).toEqual([409, '/data/type'])
    expect((await svc.admin.send('POST', '/ai-models', 'null')).status).toBe(422)
    expect((await svc.admin.send('POST', '/ai-models', '{"data": ')).status).toBe(422)
    expect(
      (await svc.admin.send('PATCH', `${at}?include=provider`, { data: { type: 'ai-models', id: model.main } })).status,
    ).toBe(400)
  })

  test('a model with a task of the service cannot be deleted, nor its provider', async () => {
    const { provider, model } = await addCatalogue(svc)
    await svc.admin.create('system-models', { modelType: 'default' }, { model: toOne('ai-models', model.main) })
    for (const path of [`/ai-models/${model.main}`, `/ai-providers/${provider.open}`]) {
      const { status, errors } = await svc.admin.delete(path)
      expect([status, errors[0]?.code]).toEqual([409, 'conflict'])
    }
    expect((await svc.admin.get('/ai-models')).total).toBe(5)
  })

  test('relations that cannot be written on their own say so', async () => {
    const { model } = await addCatalogue(svc)
    for (const name of ['provider', 'tools', 'descriptions'])
      for (const method of ['POST', 'PATCH', 'DELETE']) {
        const { status, errors } = await svc.admin.send(method, `/ai-models/${model.main}/relationships/${name}`, {
          data: [],
        })
        expect([name, method, status, errors[0]?.code]).toEqual([name, method, 403, 'read_only'])
      }
  })

  test('models sorts by what it says and by nothing else; knows no filter', async () => {
    await addCatalogue(svc)
    const labels = async (sort: string) =>
      (await svc.admin.get(`/ai-models?sort=${sort}`)).list.map(({ attributes }) => attributes['modelId'])
    expect(await labels('modelId')).toEqual((await labels('-modelId')).toReversed())
    for (const key of ['modelId', 'label', 'createdAt', 'updatedAt', 'id', '-id'])
      expect((await svc.ada.get(`/ai-models?sort=${key}`)).status).toBe(200)
    for (const [query, parameter] of [
      ['sort=usageTypes', 'sort'],
      ['sort=provider_id', 'sort'],
      ['filter[active]=true', 'filter[active]'],
      ['filter[id]=1', 'filter[id]'],
      ['filter=1', 'filter'],
      ['include=nonsense', 'include'],
      ['include=provider.models', 'include'],
      ['page[size]=1001', 'page[size]'],
      ['page[number]=0', 'page[number]'],
      ['page[offset]=0', 'page[offset]'],
      ['fields[ai-models]=nonsense', 'fields[ai-models]'],
      ['fields[ai-models]=constructor', 'fields[ai-models]'],
      ['fields[nonsense]=x', 'fields[nonsense]'],
      ['withCount=tools', 'withCount'],
    ]) {
      const { status, errors } = await svc.ada.get(`/ai-models?${query}`)
      expect([query, status, errors[0]?.source]).toEqual([query, 400, { parameter }])
    }
  })
})
