import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createClient } from '../../../facades/client/index.ts'
import {
  answers,
  type Behaviour,
  buildQuestion,
  type ProviderRequest,
  refuses,
  startProvider,
  writeConfig,
} from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { createApiClient } from '../../kit/json-api/client.ts'

const DAY_MS = 86_400_000
const getDayFromNow = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10)

const byKey = new Map<string, Behaviour>()
const keyOf = ({ headers }: ProviderRequest) => String(headers.authorization).replace('Bearer ', '')

const resources = new AsyncDisposableStack()
let upstream: Awaited<ReturnType<typeof startProvider>>
let svc: TestApp
let token: string

beforeAll(async () => {
  upstream = resources.use(await startProvider((request, response) => byKey.get(keyOf(request))?.(request, response)))
  const config = resources.use(await writeConfig(''))
  const provider = (id: string, ...models: object[]) => ({
    id,
    adapter: 'openai-compatible',
    apiUrl: upstream.url,
    apiKey: id,
    circuit: { failures: 1_000_000 },
    models: models.map((model) => ({ external: true, ...model })),
  })
  const ended = { deprecationDate: getDayFromNow(-1) }
  await config.write({
    providers: [
      provider(
        'old',
        { id: 'redirected', ...ended, successor: 'new', redirect: true },
        { id: 'not-redirected', ...ended, successor: 'new' },
        { id: 'not-yet', deprecationDate: getDayFromNow(30), successor: 'new', redirect: true },
        { id: 'by-steps', ...ended, successor: 'redirected', redirect: true },
        { id: 'there', ...ended, successor: 'back', redirect: true },
        { id: 'back', ...ended, successor: 'there', redirect: true },
        { id: 'to-staff', ...ended, successor: 'for-staff', redirect: true },
        { id: 'lasting', successor: 'new', redirect: true },
      ),
      provider('new', { id: 'new', fallback: ['not-yet'] }, { id: 'for-staff', groups: ['staff'] }),
    ],
    systemModels: { summary: 'not-yet' },
  })
  svc = resources.use(await startApp({ AI_CONFIG: config.file }))
  token = (await svc.user()).token
})
afterAll(() => resources[Symbol.asyncDispose]())
beforeEach(() => {
  upstream.requests.length = 0
  for (const key of ['old', 'new']) byKey.set(key, answers(`From ${key}.`))
})

async function ask(model: string, as = token) {
  const answer = await svc.send('POST', '/api/ai-req', {
    token: as,
    body: buildQuestion('How do you do today?', model),
  })
  return [answer.status, answer.headers.get('x-answered-by'), upstream.requests.map(keyOf)]
}

test.for<[string, string, string]>([
  ['that leads to its successor', 'redirected', 'new'],
  ['whose successor has ended, too', 'by-steps', 'new'],
])('the successor answers for a model %s, and is named and billed', async ([, model, successor]) => {
  expect(await ask(model)).toEqual([200, successor, ['new']])

  await svc.services.ai.usageLedger.flush()
  expect(await svc.rows('select model from usage_records order by id desc limit 1')).toEqual([{ model: successor }])
})

test.for<[string, string]>([
  ['that has ended and does not lead to its successor', 'not-redirected'],
  ['whose end is still to come', 'not-yet'],
  ['that has no end', 'lasting'],
  ['whose successor is for other people', 'to-staff'],
])('a model %s is asked itself', async ([, model]) => {
  expect(await ask(model)).toEqual([200, null, ['old']])
})

test('models that lead to each other end in one answer', async () => {
  const [status] = await ask('there')
  expect([status, upstream.requests.length]).toEqual([200, 1])
})

test('people of the group of a successor are led to it', async () => {
  const { id, token: ofStaff } = await svc.user()
  await svc.host.admin.setGroups({ user: { id }, groups: ['staff'] })
  expect(await ask('to-staff', ofStaff)).toEqual([200, 'for-staff', ['new']])
})

test('a model that only fails is not replaced by its successor', async () => {
  byKey.set('old', refuses(503))
  const [status, answeredBy, asked] = await ask('not-yet')
  expect([status, answeredBy, new Set(asked as string[])]).toEqual([500, null, new Set(['old'])])
})

test('the audit log says once a day that a successor answers', async () => {
  const listActs = () =>
    svc.rows("select subject, change from audit_entries where act = 'models.redirect' and subject like '%by-steps'")
  await ask('by-steps')
  await ask('by-steps')
  await expect.poll(listActs).toHaveLength(1)
  expect(await listActs()).toEqual([{ subject: 'ai-models:by-steps', change: '{"successor":"new"}' }])
})

test('people see a successor that they may use, but not whether requests follow it', async () => {
  const { token: reader } = await svc.user({ abilities: ['read'] })
  const client = createClient({ url: svc.url, token: reader })
  const { items } = await client.aiModels.list.query({})
  const find = (name: string) => items.find(({ modelId }) => modelId === name)
  expect([find('redirected')?.successor, find('to-staff')?.successor]).toEqual(['new', null])
  expect(find('redirected')).not.toHaveProperty('redirect')
})

test('administrators see what names the models that end soon or have ended', async () => {
  const { token: writer } = await svc.user({ abilities: ['read', 'write'] })
  const { conversations } = createClient({ url: svc.url, token: writer })
  const content = 'aXY=|dGFn|dGV4dA=='
  for (const models of [['not-yet'], ['not-yet', 'new'], ['new', 'not-yet']]) {
    const { slug } = await conversations.create.mutate({ name: 'Chat' })
    for (const model of models) {
      await conversations.sendMessage.mutate({ slug, content })
      await conversations.sendMessage.mutate({ slug, content, model, role: 'assistant' })
    }
  }
  await svc.host.limits.set({ name: 'of the old', for: 'model:not-yet', cap: 9, unit: 'requests', per: 'month' })

  const endings = await svc.host.overview.endings()

  expect(endings.map(({ modelId }) => modelId)).toHaveLength(7)
  expect(endings.find(({ modelId }) => modelId === 'not-yet')).toMatchObject({
    chats: 2,
    limits: ['of the old'],
    tasks: ['summary'],
    models: ['new'],
    successor: 'new',
    redirect: true,
  })
})

test('no model follows itself or a missing one, and none leads to nothing', async () => {
  const { token: administering } = await svc.user({ role: 'admin', abilities: ['ai', 'read', 'write', 'admin'] })
  const admin = createApiClient(svc, administering)
  const [{ id }] = (await svc.rows("select id from ai_models where model_id = 'new'")) as [{ id: number }]
  for (const [attributes, pointer] of [
    [{ successor: 'new' }, '/data/attributes/successor'],
    [{ successor: 'nobody' }, '/data/attributes/successor'],
    [{ redirect: true }, '/data/attributes/redirect'],
  ] as const) {
    const refused = await admin.update('ai-models', String(id), attributes)
    expect([refused.status, refused.errors?.map(({ source }) => source?.pointer)]).toEqual([422, [pointer]])
  }
})
