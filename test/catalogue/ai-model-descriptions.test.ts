import { afterEach, describe, expect, test } from 'vitest'
import {
  addCatalogue,
  type Catalogue,
  emptyCatalogue,
  idsOf,
  type JsonApiApp,
  pointersOf,
  startJsonApi,
  toOne,
} from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)
afterEach(() => emptyCatalogue(svc))

async function describeModels({ admin }: JsonApiApp, { model }: Catalogue) {
  const ids: Record<string, string> = {}
  const write = async (name: keyof Catalogue['model'], locale: string) => {
    const attributes = { locale, description: `About ${name} in ${locale}` }
    const { one } = await admin.create('ai-model-descriptions', attributes, { model: toOne('ai-models', model[name]) })
    ids[`${name} ${locale}`] = one.id
  }
  await write('external', 'en_US')
  await write('external', 'de_DE')
  for (const hidden of ['main', 'inactive', 'orphan', 'innerOnly'] as const) await write(hidden, 'en_US')
  return ids as Record<'external en_US' | 'external de_DE' | 'main en_US' | 'inactive en_US' | 'orphan en_US', string>
}

const german = { 'x-app-locale': 'de_DE' }

describe('descriptions of models', () => {
  test("descriptions of models come in the caller's language or in the default one", async () => {
    const catalogue = await addCatalogue(svc)
    const { external, main } = catalogue.model
    await svc.admin.update('ai-models', main, { usageTypes: ['main', 'external'] })
    await describeModels(svc, catalogue)
    const readDescriptions = async (path: string, headers: Record<string, string>) => {
      const { text } = await svc.ada.get(path, headers)
      return [...new Set(text.match(/About \w+ in \w+/g))].sort()
    }
    for (const path of [
      '/ai-model-descriptions',
      '/ai-model-descriptions?include=model',
      '/ai-models?include=descriptions',
      '/ai-providers?include=models.descriptions,models',
    ]) {
      expect([path, await readDescriptions(path, {})]).toEqual([
        path,
        ['About external in en_US', 'About main in en_US'],
      ])
      expect([path, await readDescriptions(path, german)]).toEqual([
        path,
        ['About external in de_DE', 'About main in en_US'],
      ])
    }
    expect(await readDescriptions(`/ai-models/${external}/descriptions`, german)).toEqual(['About external in de_DE'])
    expect(await readDescriptions(`/ai-models/${main}/descriptions`, german)).toEqual(['About main in en_US'])
  })

  test('those of hidden models and in other languages are not there', async () => {
    const catalogue = await addCatalogue(svc)
    const ids = await describeModels(svc, catalogue)
    for (const who of [svc.ada, svc.adminReading]) {
      const { list, total, included } = await who.get('/ai-model-descriptions?include=model')
      expect([idsOf(list), total, idsOf(included)]).toEqual([[ids['external en_US']], 1, [catalogue.model.external]])
      expect(list[0]?.attributes).toMatchObject({ aiModelId: Number(catalogue.model.external), locale: 'en_US' })
      const hidden = (['external de_DE', 'main en_US', 'inactive en_US', 'orphan en_US'] as const).map(
        (name) => ids[name],
      )
      for (const path of hidden.flatMap((id) => [id, `${id}/model`, `${id}/relationships/model`]))
        expect((await who.get(`/ai-model-descriptions/${path}`)).status).toBe(404)
    }
    expect((await svc.ada.get(`/ai-model-descriptions/${ids['external de_DE']}`, german)).status).toBe(200)
    for (const path of ['', `/${ids['external en_US']}`, `/${ids['external en_US']}/model`])
      expect((await svc.guest.get(`/ai-model-descriptions${path}`)).status).toBe(401)
    expect((await svc.admin.get('/ai-model-descriptions')).total).toBe(6)
  })

  test('descriptions of models are written by administrators, one per model and language', async () => {
    const catalogue = await addCatalogue(svc)
    const ids = await describeModels(svc, catalogue)
    const model = { model: toOne('ai-models', catalogue.model.external) }
    const text = { locale: 'fr_FR', description: 'Un modèle.' }
    const created = await svc.admin.create('ai-model-descriptions', text, model)
    expect([created.status, created.headers.get('location')]).toEqual([201, created.one.links['self']])
    expect((await svc.admin.create('ai-model-descriptions', text, model)).status).toBe(409)
    const moved = await svc.admin.update(
      'ai-model-descriptions',
      created.one.id,
      {},
      { model: toOne('ai-models', catalogue.model.main) },
    )
    expect([moved.status, moved.one.attributes['aiModelId'], moved.meta]).toEqual([
      200,
      Number(catalogue.model.main),
      { _svc_sync_log: [] },
    ])
    const wrong = await svc.admin.create('ai-model-descriptions', { ...text, locale: 'de', aiModelId: 1 }, model)
    expect([wrong.status, pointersOf(wrong)]).toEqual([422, ['/data/attributes/locale', '/data/attributes/aiModelId']])
    expect((await svc.admin.create('ai-model-descriptions', text, { model: toOne('ai-models', 99999) })).status).toBe(
      404,
    )
    expect((await svc.admin.delete(`/ai-models/${catalogue.model.external}`)).status).toBe(200)
    expect((await svc.admin.get(`/ai-model-descriptions/${ids['external en_US']}`)).status).toBe(404)
    expect((await svc.admin.delete(`/ai-model-descriptions/${created.one.id}`)).status).toBe(200)
    for (const [who, status] of [
      [svc.guest, 401],
      [svc.ada, 403],
      [svc.adminReading, 403],
    ] as const) {
      expect((await who.create('ai-model-descriptions', {})).status).toBe(status)
      expect((await who.update('ai-model-descriptions', ids['main en_US'], { description: 'x' })).status).toBe(status)
      expect((await who.delete(`/ai-model-descriptions/${ids['main en_US']}`)).status).toBe(status)
    }
  })
})
