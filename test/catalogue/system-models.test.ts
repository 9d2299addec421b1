import { afterEach, describe, expect, test } from 'vitest'
import { createContext } from '../../routers/core/context.ts'
import { createCaller } from '../../routers/index.ts'
import {
  addCatalogue,
  type Catalogue,
  emptyCatalogue,
  type JsonApiApp,
  pointersOf,
  startJsonApi,
  toOne,
} from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)
afterEach(() => emptyCatalogue(svc))

async function assign({ admin }: JsonApiApp, tasks: [modelType: string, usageType: string, model: string][]) {
  const ids: string[] = []
  for (const [modelType, usageType, model] of tasks) {
    const { one } = await admin.create('system-models', { modelType, usageType }, { model: toOne('ai-models', model) })
    ids.push(one.id)
  }
  return ids
}

/** Tasks only for the front end, only for programs, for both, and with a model that programs may not use. */
const tasks = ({ model }: Catalogue): [string, string, string][] => [
  ['default', 'main', model.main],
  ['default', 'external', model.external],
  ['summary', 'main', model.external],
  ['title_generation', 'main', model.main],
  ['my_own_task', 'external', model.external],
]

describe('system models', () => {
  test('programs get their own assignments, and else those of the front end', async () => {
    const catalogue = await addCatalogue(svc)
    const [, defaultExternal, summary, title, own] = await assign(svc, tasks(catalogue))
    for (const who of [svc.ada, svc.adminReading]) {
      const { list, total, included } = await who.get('/system-models?include=model,model.provider')
      expect(
        list.map(({ id, attributes, relationships }) => [
          id,
          attributes['modelType'],
          attributes['usageType'],
          attributes['modelId'],
          relationships?.['model']?.data,
        ]),
      ).toEqual([
        [defaultExternal, 'default', 'external', 'external', { type: 'ai-models', id: catalogue.model.external }],
        [summary, 'summary', 'main', 'external', { type: 'ai-models', id: catalogue.model.external }],
        [title, 'title_generation', 'main', null, null],
        [own, 'my_own_task', 'external', 'external', { type: 'ai-models', id: catalogue.model.external }],
      ])
      expect(total).toBe(4)
      expect(included.map(({ type, id }) => `${type} ${id}`).sort()).toEqual([
        `ai-models ${catalogue.model.external}`,
        `ai-providers ${catalogue.provider.open}`,
      ])
    }
  })

  test('an assignment that programs may not use does not reveal its model', async () => {
    const catalogue = await addCatalogue(svc)
    const [defaultMain, , , title] = await assign(svc, tasks(catalogue))
    for (const path of ['', '/model', '/relationships/model']) {
      expect((await svc.ada.get(`/system-models/${defaultMain}${path}`)).status).toBe(404)
      const { status, text } = await svc.ada.get(`/system-models/${title}${path}`)
      expect(status).toBe(200)
      expect(text).not.toMatch(new RegExp(`"main"(?!,"modelId":null)|ai-models/${catalogue.model.main}\\b`))
    }
    const { one } = await svc.ada.get(`/system-models/${title}`)
    const { list } = await svc.ada.get('/system-models')
    for (const row of [one, ...list.filter(({ id }) => id === title)])
      expect([row.attributes['modelId'], row.relationships?.['model']?.data]).toEqual([null, null])
    expect((await svc.ada.get(`/system-models/${title}/model`)).one).toBeNull()
    expect((await svc.ada.get(`/system-models/${title}/relationships/model`)).one).toBeNull()
    for (const path of ['', `/${title}`, `/${title}/model`])
      expect((await svc.guest.get(`/system-models${path}`)).status).toBe(401)
  })

  test('the front end gets its own assignments and no others', async () => {
    const catalogue = await addCatalogue(svc)
    await assign(svc, tasks(catalogue))
    const { id, username, name, email } = svc.people.ada
    const person = { id, username, name, email, role: 'user' as const, groups: [] }
    const api = createCaller(() => createContext(svc.services, { caller: { type: 'user', person }, requestId: 'test' }))
    const { items } = await api.systemModels.list({ include: ['model'] })
    expect(items.map(({ modelType, usageType, modelId }) => [modelType, usageType, modelId])).toEqual([
      ['default', 'main', 'main'],
      ['summary', 'main', 'external'],
      ['title_generation', 'main', 'main'],
    ])
  })

  test('administrators see and change all of them', async () => {
    const catalogue = await addCatalogue(svc)
    const [first] = await assign(svc, tasks(catalogue))
    expect((await svc.admin.get('/system-models')).total).toBe(5)
    const model = { model: toOne('ai-models', catalogue.model.external) }
    const created = await svc.admin.create('system-models', { modelType: 'prompt_improvement' }, model)
    expect([created.status, created.one.attributes['usageType'], created.meta]).toEqual([
      201,
      'main',
      { _svc_sync_log: [] },
    ])
    expect((await svc.admin.create('system-models', { modelType: 'default' }, model)).status).toBe(409)
    const changed = await svc.admin.update('system-models', first ?? '', {}, model)
    expect([changed.status, changed.one.attributes['modelId']]).toEqual([200, 'external'])
    expect((await svc.admin.update('system-models', first ?? '', { usageType: 'external' })).status).toBe(409)
    const wrong = await svc.admin.create(
      'system-models',
      { modelType: '', usageType: 'other', modelId: 'x' },
      { model: toOne('users', 1) },
    )
    expect([wrong.status, pointersOf(wrong)]).toEqual([422, ['/data/relationships/model/data']])
    const worse = await svc.admin.create('system-models', { modelType: '', usageType: 'other', modelId: 'x' }, model)
    expect(pointersOf(worse)).toEqual(['modelType', 'usageType', 'modelId'].map((name) => `/data/attributes/${name}`))
    expect(
      (await svc.admin.create('system-models', { modelType: 'x' }, { model: toOne('ai-models', 99999) })).status,
    ).toBe(404)
    expect((await svc.admin.delete(`/system-models/${first}`)).status).toBe(200)
    expect((await svc.admin.get(`/system-models/${first}`)).status).toBe(404)
    for (const [who, status] of [
      [svc.guest, 401],
      [svc.ada, 403],
      [svc.adminReading, 403],
    ] as const) {
      expect((await who.create('system-models', {})).status).toBe(status)
      expect((await who.update('system-models', created.one.id, { modelType: 'x' })).status).toBe(status)
      expect((await who.delete(`/system-models/${created.one.id}`)).status).toBe(status)
    }
  })
})
