import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { deleteEndedStreams } from '../../entities/views/change-log.sql.ts'
import { answers, buildQuestion, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { createApiClient } from '../kit/json-api/client.ts'
import { watchStatements } from '../kit/statements.ts'

const resources = new AsyncDisposableStack()
/** Two replicas: one changes the catalogue; the other one gets the calls, and has cached each model. */
let changingReplica: TestApp
let calledReplica: TestApp
let token: string
let admin: ReturnType<typeof createApiClient>
let upstream: Awaited<ReturnType<typeof startProvider>>
let other: Awaited<ReturnType<typeof startProvider>>

beforeAll(async () => {
  upstream = resources.use(await startProvider(answers('Good day.')))
  other = resources.use(await startProvider(answers('From elsewhere.')))
  const config = resources.use(await writeConfig(upstream.url))
  const settings: Record<string, string> = {
    AI_CONFIG: config.file,
    APP_KEY: randomBytes(32).toString('base64'),
  }
  changingReplica = resources.use(await startApp(settings))
  settings['DATABASE_URL'] = String(changingReplica.env.DATABASE_URL)
  calledReplica = resources.use(await startApp(settings))
  token = (await changingReplica.user()).token
  const { token: administering } = await changingReplica.user({
    role: 'admin',
    abilities: ['ai', 'read', 'write', 'admin'],
  })
  admin = createApiClient(changingReplica, administering)
})
afterAll(() => resources[Symbol.asyncDispose]())

const sendQuestion = (model: string) =>
  calledReplica.send('POST', '/api/ai-req', { token, body: buildQuestion('How do you do?', model) })

async function add(name: string, attributes: object = {}): Promise<{ provider: string; model: string }> {
  const of = { providerId: name, name, adapter: 'openai-compatible', apiUrl: upstream.url, apiKey: 'key' }
  const provider = await admin.create('ai-providers', of)
  const named = { modelId: name, label: name, usageTypes: ['main', 'external'], ...attributes }
  const related = { provider: { data: { type: 'ai-providers', id: provider.one.id } } }
  const model = await admin.create('ai-models', named, related)
  expect([provider.status, model.status]).toEqual([201, 201])
  return { provider: provider.one.id, model: model.one.id }
}

describe('a model is no longer called by a replica once another one', () => {
  test.for<[string, (of: { provider: string; model: string }) => Promise<{ status: number }>]>([
    ['switches the model off', ({ model }) => admin.update('ai-models', model, { active: false })],
    ['switches the provider off', ({ provider }) => admin.update('ai-providers', provider, { active: false })],
    ['takes it from programs', ({ model }) => admin.update('ai-models', model, { usageTypes: ['main'] })],
    ['renames it', ({ model }) => admin.update('ai-models', model, { modelId: `renamed-${model}` })],
    ['deletes the model', ({ model }) => admin.delete(`/ai-models/${model}`)],
    ['deletes the provider', ({ provider }) => admin.delete(`/ai-providers/${provider}`)],
    ['lets it take less', ({ model }) => admin.update('ai-models', model, { limits: { maxInputTokens: 1 } })],
  ])('%s', async ([what, change]) => {
    const of = await add(what)
    expect((await sendQuestion(what)).status).toBe(200)
    upstream.requests.length = 0

    expect((await change(of)).status).toBeLessThan(300)

    expect((await sendQuestion(what)).status).toBe(422)
    expect(upstream.requests).toEqual([])
  })
})

test("a question beyond a model's limits is answered once another replica raises them", async () => {
  const { model } = await add('growing', { limits: { maxInputTokens: 1 } })
  expect((await sendQuestion('growing')).status).toBe(422)
  expect((await admin.update('ai-models', model, { limits: { maxInputTokens: 1000 } })).status).toBe(200)
  expect((await sendQuestion('growing')).status).toBe(200)
})

test('a model is called by its current address and key, at its current price', async () => {
  const { provider } = await add('moving')
  expect(await (await sendQuestion('moving')).json()).toMatchObject({ content: { text: 'Good day.' } })
  const moved = { apiUrl: other.url, apiKey: 'another' }
  expect((await admin.update('ai-providers', provider, moved)).status).toBe(200)
  await changingReplica.host.prices.import({
    currency: 'EUR',
    free: [],
    prices: [{ model: 'moving', inputPerMillion: 1_000_000, outputPerMillion: 0 }],
  })

  expect(await (await sendQuestion('moving')).json()).toMatchObject({ content: { text: 'From elsewhere.' } })

  expect(other.requests.at(-1)?.headers.authorization).toBe('Bearer another')
  await calledReplica.services.ai.usageLedger.flush()
  const [record] = await changingReplica.rows(
    "select cost_micros::int as cost from usage_records where model = 'moving' order by id desc",
  )
  expect(record).toEqual({ cost: 7_000_000 })
})

test('a model becomes a fallback at once when its input limit is raised', async () => {
  const { model } = await add('small', { limits: { maxInputTokens: 1 } })
  const { provider } = await add('broken', { fallback: ['small'] })
  expect(
    (await admin.update('ai-providers', provider, { apiUrl: 'http://127.0.0.1:9/v1', apiKey: 'key' })).status,
  ).toBe(200)
  expect((await sendQuestion('small')).status).toBe(422)
  expect((await sendQuestion('broken')).status).toBeGreaterThanOrEqual(500)
  expect((await admin.update('ai-models', model, { limits: null })).status).toBe(200)

  const answer = await sendQuestion('broken')

  expect([answer.status, await answer.json()]).toMatchObject([200, { content: { text: 'Good day.' } }])
})

test('a model that was switched off is not called although the log forgot it', async () => {
  const { model } = await add('forgotten')
  await changingReplica.rows("update change_streams set seq = 1 where stream = 'all'")
  expect((await sendQuestion('forgotten')).status).toBe(200)
  await changingReplica.rows("delete from change_log where stream = 'all'")
  await changingReplica.services.sql(deleteEndedStreams)

  expect((await admin.update('ai-models', model, { active: false })).status).toBe(200)

  expect((await sendQuestion('forgotten')).status).toBe(422)
})

test('the catalogue changes during questions without disturbing any of them', async () => {
  const { model } = await add('busy')
  const controller = new AbortController()
  const change = async () => {
    for (let turn = 0; !controller.signal.aborted; turn++)
      await admin.update('ai-models', model, { label: `Turn ${turn}` })
  }
  const changes = [change(), change()]
  const statuses = new Set<number>()
  for (let round = 0; round < 10; round++)
    for (const { status } of await Promise.all(Array.from({ length: 20 }, () => sendQuestion('busy'))))
      statuses.add(status)
  controller.abort()
  await Promise.all(changes)
  expect([...statuses]).toEqual([200])
  await calledReplica.services.ai.usageLedger.flush()
  const [counted] = await changingReplica.rows("select count(*)::int from usage_records where model = 'busy'")
  expect(counted).toEqual({ count: 200 })
  expect(await changingReplica.rows('select id from usage_holds')).toEqual([])
})

describe('a question', () => {
  const statements = watchStatements()

  test('looks up only the caller, as the model is cached', async () => {
    await add('seen')
    const seen: string[][] = []
    // Several calls are made, as a model is occasionally looked up again.
    for (let turn = 0; turn < 5; turn++) {
      await sendQuestion('seen')
      await calledReplica.services.ai.usageLedger.flush()
      seen.push(statements.take().flatMap(({ name }) => name ?? []))
    }
    expect(seen.flat()).toContain('find-callable-model')
    expect(seen).toContainEqual(['find-token-owners', 'reserve-usage', 'commit-usage'])
  })
})
