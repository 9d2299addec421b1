import { expect, test } from 'vitest'
import { buildQuestion, writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'
import { createApiClient, pointersOf, startJsonApi, toOne } from '../kit/json-api/client.ts'
import { productionSettings } from '../kit/production.ts'

const demo = { providerId: 'mine', name: 'Mine', adapter: 'demo' }

test('production makes no demo provider, of nothing and of none that was another', async () => {
  await using svc = await startJsonApi(productionSettings)

  for (const given of [demo, { ...demo, active: false }]) {
    const refusal = await svc.admin.create('ai-providers', given)
    expect([refusal.status, pointersOf(refusal)]).toEqual([422, ['/data/attributes/adapter']])
    expect(refusal.errors[0]?.detail).toContain('demo model')
  }
  const other = await svc.admin.create('ai-providers', { ...demo, adapter: 'mistral' })
  const changed = await svc.admin.update('ai-providers', other.one.id, { adapter: 'demo' })

  expect([changed.status, pointersOf(changed)]).toEqual([422, ['/data/attributes/adapter']])
  expect(await svc.rows('select adapter from ai_providers')).toEqual([{ adapter: 'mistral' }])
})

test('production switches off the demo providers of development, and they can only be renamed', async () => {
  await using database = await cloneDatabase()
  await using config = await writeConfig('http://127.0.0.1:9/v1')
  const settings = { ...productionSettings, DATABASE_URL: database.url, AI_CONFIG: config.file }
  const sendQuestion = (svc: Awaited<ReturnType<typeof startApp>>, token: string, model: string) =>
    svc.send('POST', '/api/ai-req', { token, body: buildQuestion('Hello', model) })
  const made = await (async () => {
    await using svc = await startApp({ ...settings, NODE_ENV: 'development' })
    const { token } = await svc.user({ role: 'admin', abilities: ['ai', 'read', 'write', 'admin'] })
    const admin = createApiClient(svc, token)
    const { id } = (await admin.create('ai-providers', demo)).one
    const relation = { provider: toOne('ai-providers', id) }
    const model = { modelId: 'toy', label: 'Toy', usageTypes: ['main', 'external'] }
    expect((await admin.create('ai-models', model, relation)).status).toBe(201)
    expect((await sendQuestion(svc, token, 'toy')).status).toBe(200)
    return { id, token }
  })()

  await using svc = await startApp(settings)
  const admin = createApiClient(svc, made.token)

  expect((await sendQuestion(svc, made.token, 'toy')).status).toBe(422)
  expect((await admin.get(`/ai-providers/${made.id}`)).one.attributes).toMatchObject({ active: false })
  expect(svc.log.join('')).toContain('"deactivated":["mine"]')
  const active = await admin.update('ai-providers', made.id, { active: true })
  expect([active.status, pointersOf(active)]).toEqual([422, ['/data/attributes/active']])
  expect((await admin.update('ai-providers', made.id, { name: 'Old' })).status).toBe(200)
  const real = { adapter: 'openai-compatible', apiUrl: 'http://127.0.0.1:9/v1', active: true }
  expect((await admin.update('ai-providers', made.id, real)).status).toBe(200)
})
