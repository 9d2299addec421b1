import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { API_KEY } from '../../routers/ports/vault.ts'
import { answers, buildQuestion, startProvider } from '../kit/ai/provider.ts'
import { addCatalogue, emptyCatalogue, idsOf, pointersOf, startJsonApi, toOne } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)
afterEach(() => emptyCatalogue(svc))

const secret = 'SECRET-KEY-OF-A-PROVIDER'
const provided = { providerId: 'mine', name: 'Mine', adapter: 'openai-compatible', apiUrl: 'https://ai.example.org/v1' }

describe('providers', () => {
  test('programs find the providers that have a model for them, with those models', async () => {
    const { provider, model } = await addCatalogue(svc)
    for (const who of [svc.ada, svc.bob, svc.adminReading]) {
      const { list, total, included } = await who.get('/ai-providers?include=models')
      expect([idsOf(list), total, idsOf(included)]).toEqual([[provider.open], 1, [model.external]])
      expect(list[0]?.relationships?.['models']?.data).toEqual([{ type: 'ai-models', id: model.external }])
      expect(Object.keys(list[0]?.attributes ?? {}).sort()).toEqual(['createdAt', 'name', 'providerId', 'updatedAt'])
      for (const path of [
        provider.inner,
        provider.off,
        `${provider.off}/models`,
        `${provider.off}/relationships/models`,
      ])
        expect((await who.get(`/ai-providers/${path}`)).status).toBe(404)
    }
    expect((await svc.guest.get('/ai-providers?include=models')).status).toBe(401)
    expect(idsOf((await svc.admin.get('/ai-providers')).list)).toEqual(Object.values(provider))
  })

  test('a key never leaves, is sealed in the table, can be replaced and removed', async () => {
    const created = await svc.admin.create('ai-providers', { ...provided, apiKey: secret })
    expect([created.status, created.one.attributes['apiKey']]).toEqual([201, '********'])
    const { id } = created.one
    const readStoredKey = async () =>
      (await svc.rows<{ key: string | null }>('select api_key as key from ai_providers'))[0]?.key
    const first = await readStoredKey()
    expect(first).not.toContain(secret)
    expect(svc.services.vault.open(first ?? '', API_KEY)).toBe(secret)

    const renamed = await svc.admin.update('ai-providers', id, { name: 'Other' })
    expect([renamed.one.attributes['apiKey'], await readStoredKey()]).toEqual(['********', first])
    await svc.admin.update('ai-providers', id, { apiKey: `${secret}-2` })
    expect(svc.services.vault.open((await readStoredKey()) ?? '', API_KEY)).toBe(`${secret}-2`)
    const stars = await svc.admin.update('ai-providers', id, { apiKey: '********' })
    expect([stars.status, stars.one.attributes['apiKey']]).toEqual([200, '********'])
    expect(svc.services.vault.open((await readStoredKey()) ?? '', API_KEY)).toBe(`${secret}-2`)

    const texts = [created, renamed, await svc.admin.get('/ai-providers'), await svc.admin.get(`/ai-providers/${id}`)]
    const failed = await svc.admin.create('ai-providers', { ...provided, apiKey: [secret] })
    for (const { text } of [...texts, failed]) expect(text).not.toContain(secret)
    expect(svc.log.join()).not.toContain(secret)

    const without = await svc.admin.update('ai-providers', id, { apiKey: null })
    expect([without.one.attributes['apiKey'], await readStoredKey()]).toEqual([null, null])
    const noStars = await svc.admin.update('ai-providers', id, { apiKey: '********' })
    expect([noStars.status, pointersOf(noStars)]).toEqual([422, ['/data/attributes/apiKey']])
  })

  test('an added provider and model answer programs from being allowed until switched off', async () => {
    await using upstream = await startProvider(answers('Good day.'))
    const { admin, people } = svc
    const sendQuestion = async () => {
      const response = await svc.send('POST', '/api/ai-req', {
        token: people.ada.token,
        body: buildQuestion('Hello', 'new-1'),
      })
      return response.status
    }
    const provider = (await admin.create('ai-providers', { ...provided, apiUrl: upstream.url, apiKey: secret })).one.id
    expect(await sendQuestion()).toBe(422)
    const relation = { provider: toOne('ai-providers', provider) }
    const model = (await admin.create('ai-models', { modelId: 'new-1', label: 'New', upstreamId: 'real-1' }, relation))
      .one.id
    expect(await sendQuestion()).toBe(422)
    await admin.update('ai-models', model, { usageTypes: ['main', 'external'] })
    expect(await sendQuestion()).toBe(200)
    expect(upstream.requests[0]?.headers.authorization).toBe(`Bearer ${secret}`)
    expect(upstream.requests[0]?.body.model).toBe('real-1')

    await admin.update('ai-providers', provider, { apiKey: 'another-key' })
    expect(await sendQuestion()).toBe(200)
    expect(upstream.requests[1]?.headers.authorization).toBe('Bearer another-key')

    await admin.update('ai-providers', provider, { active: false })
    expect(await sendQuestion()).toBe(422)
    // The provider's models are no longer listed.
    expect(
      await svc.rows(`select kind, subject from change_log where stream = 'all' order by seq desc limit 2`),
    ).toEqual([
      { kind: 'ai-models.updated', subject: model },
      { kind: 'ai-providers.updated', subject: provider },
    ])
    await admin.update('ai-providers', provider, { active: true })
    expect(await sendQuestion()).toBe(200)
    await admin.update('ai-models', model, { active: false })
    expect(await sendQuestion()).toBe(422)
    await admin.update('ai-models', model, { active: true, usageTypes: ['main'] })
    expect(await sendQuestion()).toBe(422)
    await admin.update('ai-models', model, { usageTypes: ['external'] })
    expect(await sendQuestion()).toBe(200)
    expect((await admin.delete(`/ai-providers/${provider}`)).status).toBe(200)
    expect(await sendQuestion()).toBe(422)
    expect((await admin.get(`/ai-models/${model}`)).status).toBe(404)
    expect(upstream.requests).toHaveLength(4)
  })

  test('administrators create, change and delete; their mistakes are named', async () => {
    const created = await svc.admin.create('ai-providers', { ...provided, settings: { timeouts: { connect: 500 } } })
    expect([created.status, created.meta]).toEqual([201, { _svc_sync_log: [] }])
    expect(new URL(created.headers.get('location') ?? '', svc.url).pathname).toBe(
      `/api/svc/v1/ai-providers/${created.one.id}`,
    )
    expect(created.one.attributes).toMatchObject({ ...provided, active: true, apiKey: null })
    expect((await svc.admin.create('ai-providers', provided)).status).toBe(409)
    const wrong = await svc.admin.create('ai-providers', {
      ...provided,
      adapter: 'nonsense',
      apiUrl: 'file:///etc',
      settings: { x: 1 },
    })
    expect(pointersOf(wrong)).toEqual(['adapter', 'apiUrl', 'settings/x'].map((name) => `/data/attributes/${name}`))
    const known = await svc.admin.create('ai-providers', {
      ...provided,
      apiUrl: 'https://ada:secret@ai.example.org/v1',
    })
    expect([known.status, known.errors[0]?.detail]).toEqual([422, 'apiUrl must have no user name or password in it.'])
    const without = await svc.admin.create('ai-providers', { providerId: 'b', name: 'B', adapter: 'openai-compatible' })
    expect([without.status, pointersOf(without)]).toEqual([422, ['/data/attributes']])
    await pause(5)
    const changed = await svc.admin.update('ai-providers', created.one.id, { name: 'New name' })
    expect(changed.one.attributes).toMatchObject({
      providerId: 'mine',
      name: 'New name',
      createdAt: created.one.attributes['createdAt'],
    })
    expect(String(changed.one.attributes['updatedAt']) > String(created.one.attributes['updatedAt'])).toBe(true)
    expect((await svc.admin.delete(`/ai-providers/${created.one.id}`)).meta).toEqual({ _svc_sync_log: [] })
    expect((await svc.admin.get(`/ai-providers/${created.one.id}`)).status).toBe(404)
  })

  test('a time limit of more than a day is refused, as timers overflow', async () => {
    const settings = { timeouts: { connect: 1, firstByte: 86_400_001, total: 2 ** 31 }, circuit: { openFor: 2 ** 31 } }
    const refusal = await svc.admin.create('ai-providers', { ...provided, settings })
    expect([refusal.status, pointersOf(refusal).toSorted()]).toEqual([
      422,
      ['circuit/openFor', 'timeouts/firstByte', 'timeouts/total'].map((name) => `/data/attributes/settings/${name}`),
    ])
    expect(refusal.errors[0]?.detail).toContain('must be at most 86400000, which is 24 hours')
    const day = await svc.admin.create('ai-providers', { ...provided, settings: { timeouts: { total: 86_400_000 } } })
    expect(day.status).toBe(201)
    const server = { serverLabel: 'S', url: 'https://tools.example', timeouts: { sseIdle: 2 ** 31 } }
    expect((await svc.admin.create('mcp-servers', server)).status).toBe(422)
  })

  test('only administrators change anything', async () => {
    const { provider } = await addCatalogue(svc)
    for (const [who, status] of [
      [svc.guest, 401],
      [svc.ada, 403],
      [svc.adminReading, 403],
    ] as const) {
      expect((await who.create('ai-providers', provided)).status).toBe(status)
      expect((await who.update('ai-providers', provider.open, { name: 'Mine now' })).status).toBe(status)
      expect((await who.delete(`/ai-providers/${provider.open}`)).status).toBe(status)
      for (const method of ['POST', 'PATCH', 'DELETE'])
        expect(
          (await who.send(method, `/ai-providers/${provider.open}/relationships/models`, { data: [] })).status,
        ).toBe(status)
    }
    expect((await svc.admin.get(`/ai-providers/${provider.open}`)).one.attributes['name']).toBe('open')
  })
})
