// @module-tag debian

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createContext } from '../../routers/core/context.ts'
import { createCaller } from '../../routers/index.ts'
import {
  addCatalogue,
  type Catalogue,
  idsOf,
  type JsonApiApp,
  pointersOf,
  startJsonApi,
} from '../kit/json-api/client.ts'

describe('reading models', () => {
  let svc: JsonApiApp
  let provider: Catalogue['provider']
  let model: Catalogue['model']
  let tool: Catalogue['tool']
  let server: Catalogue['server']
  beforeAll(async () => {
    svc = await startJsonApi()
    ;({ provider, model, tool, server } = await addCatalogue(svc))
  })
  afterAll(() => svc[Symbol.asyncDispose]())

  test('programs find the active models of active providers that are enabled for them', async () => {
    const { external, ...hidden } = model
    for (const who of [svc.ada, svc.adminReading]) {
      const { list, total } = await who.get('/ai-models')
      expect([idsOf(list), total]).toEqual([[external], 1])
      expect((await who.get(`/ai-models/${external}`)).status).toBe(200)
      const parts = ['', '/provider', '/tools', '/descriptions']
      const paths = [...parts, ...parts.slice(1).map((part) => `/relationships${part}`)]
      for (const path of Object.values(hidden).flatMap((id) => paths.map((rest) => `/ai-models/${id}${rest}`)))
        expect([path, (await who.get(path)).status]).toEqual([path, 404])
    }
  })

  test('programs find no other models by way of other resources', async () => {
    const related = [
      `/ai-providers/${provider.open}/models`,
      `/ai-providers/${provider.open}/relationships/models`,
      `/ai-tools/${tool.search}/models`,
      `/ai-tools/${tool.fetch}/relationships/models`,
    ]
    const including = [
      '/ai-providers?include=models,models.tools,models.descriptions,models.provider',
      '/ai-tools?include=models,models.provider',
      '/mcp-servers?include=tools,tools.models',
      `/mcp-servers/${server.up}?include=tools.models`,
      `/ai-models/${model.external}?include=tools,provider`,
    ]
    for (const who of [svc.ada, svc.adminReading]) {
      for (const path of related) {
        const { list, total } = await who.get(path)
        expect([path, idsOf(list), total]).toEqual([path, [model.external], 1])
      }
      for (const path of including) {
        const { text } = await who.get(path)
        expect([path, new Set(text.match(/Label \w+/g))]).toEqual([path, new Set(['Label external'])])
      }
    }
  })

  test('the front end finds those that are enabled for it', async () => {
    const { id, username, name, email } = svc.people.ada
    const person = { id, username, name, email, role: 'user' as const, groups: [] }
    const call = { caller: { type: 'user' as const, person }, requestId: 'test' }
    const api = createCaller(() => createContext(svc.services, call))
    const { items, total } = await api.aiModels.list()
    expect(items.map((item) => item.id)).toEqual([model.external, model.main, model.innerOnly])
    expect(total).toBe(3)
  })

  test('hidden models look like missing ones', async () => {
    const say = async (id: string) => {
      const { status, errors } = await svc.ada.get(`/ai-models/${id}?include=provider`)
      const [{ detail, code, title } = {}] = errors
      return { status, code, title, detail: detail?.replaceAll(id, 'N') }
    }
    expect(await say(model.main)).toEqual(await say('99999'))
    for (const id of ['0', '-1', 'abc', '1.5', '99999999999', '%00', 'null'])
      expect((await svc.ada.get(`/ai-models/${id}`)).status).toBe(404)
  })

  test('guests must sign in before their request is looked at', async () => {
    const paths = ['', '?include=nonsense', '?filter[x]=1', `/${model.external}`, '/99999', '/abc']
    const related = ['provider', 'tools', 'relationships/tools', 'relationships/provider']
    for (const path of [...paths, ...related.map((name) => `/${model.external}/${name}`)]) {
      const { status, errors, headers } = await svc.guest.get(`/ai-models${path}`)
      expect([path, status, errors.map(({ code }) => code)]).toEqual([path, 401, ['signed_out']])
      expect(headers.get('www-authenticate')).toBe('Bearer')
    }
    for (const [method, path] of [
      ['POST', ''],
      ['PATCH', `/${model.external}`],
      ['DELETE', `/${model.external}`],
      ['PATCH', `/${model.external}/relationships/tools`],
    ] as const) {
      for (const body of [{ data: null }, '{"broken', undefined]) {
        const { status, errors } = await svc.guest.send(method, `/ai-models${path}`, body)
        expect([method, path, body, status, errors[0]?.code]).toEqual([method, path, body, 401, 'signed_out'])
      }
    }
  })

  test('only administrators with a token that can write change models', async () => {
    for (const [who, code] of [
      [svc.ada, 'admin_only'],
      [svc.adminReading, 'missing_ability'],
    ] as const) {
      for (const [method, path] of [
        ['POST', '/ai-models'],
        ['PATCH', `/ai-models/${model.external}`],
        ['PATCH', '/ai-models/99999'],
        ['DELETE', `/ai-models/${model.external}`],
        ['DELETE', '/ai-models/99999'],
      ] as const) {
        for (const body of [{ data: { type: 'nonsense' } }, '{"broken', undefined]) {
          const refusal = await who.send(method, path, body)
          expect([method, path, refusal.status, refusal.errors[0]?.code]).toEqual([method, path, 403, code])
          expect(pointersOf(refusal)).toEqual([undefined])
        }
      }
    }
  })

  test('administrators see every model with what concerns them', async () => {
    const { list, total } = await svc.admin.get('/ai-models?sort=id')
    expect([idsOf(list), total]).toEqual([Object.values(model), 5])
    expect(list.map(({ attributes }) => attributes['usageTypes'])).toEqual([
      ['main', 'external'],
      ['main'],
      ['main', 'external'],
      ['main', 'external'],
      ['main'],
    ])
    expect((await svc.admin.get(`/ai-providers/${provider.off}/models`)).total).toBe(1)
    const { one } = await svc.ada.get(`/ai-models/${model.external}`)
    expect(one.attributes).not.toHaveProperty('usageTypes')
    expect(one.attributes).not.toHaveProperty('upstreamId')
    expect(one.attributes['toolIds']).toEqual([Number(tool.search), Number(tool.fetch)])
  })
})
