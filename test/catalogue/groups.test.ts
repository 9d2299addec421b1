import { afterAll, beforeAll, expect, test } from 'vitest'
import { answers, refuses, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { APPS_ON, addApp, establishConnection } from '../kit/apps/ext-app.ts'
import { signIn, type TestBrowser } from '../kit/browser.ts'
import { runCommand } from '../kit/command-line.ts'
import { createApiClient } from '../kit/json-api/client.ts'
import { createAiRoom, requestRoomAnswer } from '../kit/rooms/ai.ts'

const resources = new AsyncDisposableStack()
let svc: TestApp
let config: Awaited<ReturnType<typeof writeConfig>>
/** `ada` is in the group and `bob` in another one; the administrator `root` is in none. */
let ada: Awaited<ReturnType<typeof signIn>>
let bob: Awaited<ReturnType<typeof signIn>>
let root: Awaited<ReturnType<typeof signIn>>

const everybody = ['open', 'frail']
const staff = ['open', 'frail', 'for-staff', 'behind']

const models = [
  { id: 'open', external: true },
  { id: 'for-staff', external: true, groups: ['staff'] },
  { id: 'frail', external: true, fallback: ['for-staff', 'open'] },
  { id: 'vectors', external: true, groups: ['staff'], modelType: 'embedding' },
]

beforeAll(async () => {
  const upstream = resources.use(
    await startProvider((request, response) =>
      (request.body.model === 'frail' ? refuses(503) : answers(`By ${request.body.model}.`))(request, response),
    ),
  )
  const server = { adapter: 'openai-compatible', apiUrl: upstream.url, apiKey: 'k' }
  const circuit = { failures: 100_000 }
  config = resources.use(await writeConfig(upstream.url))
  await config.write({
    providers: [
      { id: 'usual', ...server, circuit, models },
      { id: 'special', ...server, groups: ['staff', 'guests'], models: [{ id: 'behind', external: true }] },
    ],
    systemModels: { default: 'open', summary: 'for-staff' },
  })
  svc = resources.use(await startApp({ ...APPS_ON, ALLOW_EXTERNAL_APPS_GROUPS_AI: 'true', AI_CONFIG: config.file }))
  ada = await signIn(svc, 'ada')
  bob = await signIn(svc, 'bob')
  root = await signIn(svc, 'root')
  await svc.host.admin.setGroups({ user: { username: 'ada' }, groups: ['staff', 'chess'] })
  await svc.host.admin.setGroups({ user: { username: 'bob' }, groups: ['students'] })
  await svc.host.admin.setRole({ user: { username: 'root' }, role: 'admin' })
  await root.browser.login('root')
})
afterAll(() => resources.disposeAsync())

async function get(path: string, token?: string) {
  const answer = await svc.send('GET', path, { token })
  return { status: answer.status, body: (await answer.json()) as Record<string, never> }
}

const namesOf = (list: { id: string }[]) => list.map(({ id }) => id)

/** Lists the names of the models in a document. */
async function listModels(browser: TestBrowser, path = '/api/svc/v1/ai-models') {
  const { body } = await browser.send('GET', path)
  const { data } = body as { data: { attributes: { modelId: string } }[] }
  return data.map(({ attributes }) => attributes.modelId)
}

async function sendQuestion(token: string, model: string) {
  const body = { payload: { model, messages: [{ role: 'user', content: { text: 'Hello' } }] } }
  const answer = await svc.send('POST', '/api/ai-req', { token, body })
  return { status: answer.status, text: await answer.text() }
}

const chat = (token: string, model: string, headers = {}) =>
  svc.send('POST', '/v1/chat/completions', {
    token,
    body: { model, messages: [{ role: 'user', content: 'Hi' }] },
    headers,
  })

test('people see in lists only models for everybody or for their groups', async () => {
  expect((await listModels(ada.browser)).sort()).toEqual([...staff, 'vectors'].sort())
  expect((await listModels(bob.browser)).sort()).toEqual([...everybody].sort())
  expect((await listModels(root.browser)).sort()).toEqual([...staff, 'vectors'].sort())
  expect((await get('/api/svc/v1/ai-models')).status).toBe(401)
})

test('programs are listed the same models on every surface', async () => {
  const openAi = async (token: string) => namesOf((await get('/v1/models', token)).body['data'] ?? [])
  expect((await openAi(ada.token)).sort()).toEqual([...staff, 'vectors'].sort())
  expect((await openAi(bob.token)).sort()).toEqual([...everybody].sort())
  expect((await openAi(root.token)).sort()).toEqual([...staff, 'vectors'].sort())
  expect((await get('/v1/models/for-staff', ada.token)).status).toBe(200)
  expect((await get('/v1/models/for-staff', bob.token)).status).toBe(404)
  const claude = await svc.send('GET', '/v1/models', {
    token: bob.token,
    headers: { 'anthropic-version': '2023-06-01' },
  })
  expect(namesOf(((await claude.json()) as { data: { id: string }[] }).data).sort()).toEqual(everybody.toSorted())
})

test('a model for other groups is like a missing one on every surface', async () => {
  for (const name of ['for-staff', 'behind']) {
    expect(await sendQuestion(ada.token, name)).toMatchObject({ status: 200 })
    expect(await sendQuestion(root.token, name)).toMatchObject({ status: 200 })
    const refusal = await sendQuestion(bob.token, name)
    const unknown = await sendQuestion(bob.token, 'nowhere')
    expect(refusal.status).toBe(422)
    const normalize = ({ text }: { text: string }) => text.replace(/"requestId":"[^"]*"/, '')
    expect(normalize(refusal)).toBe(normalize(unknown))
    expect((await chat(bob.token, name)).status).toBe((await chat(bob.token, 'nowhere')).status)
    expect((await chat(ada.token, name)).status).toBe(200)
  }
  const count = (token: string) =>
    svc.send('POST', '/v1/messages/count_tokens', {
      token,
      headers: { 'anthropic-version': '2023-06-01' },
      body: { model: 'for-staff', messages: [{ role: 'user', content: 'Hi' }] },
    })
  expect((await count(bob.token)).status).toBeGreaterThanOrEqual(400)
  expect((await count(ada.token)).status).toBe(200)
  const embed = (token: string) =>
    svc.send('POST', '/v1/embeddings', { token, body: { model: 'vectors', input: 'Hi' } })
  expect((await embed(bob.token)).status).toBe((await embed((await svc.user()).token)).status)
  expect((await embed(bob.token)).status).toBe(404)
})

test('a model for other groups never answers in place of one that fails', async () => {
  expect((await sendQuestion(ada.token, 'frail')).text).toContain('By for-staff.')
  expect((await sendQuestion(bob.token, 'frail')).text).toContain('By open.')
})

test('the rights of groups are found by other resources, too', async () => {
  const related = async (browser: TestBrowser, path: string) => (await browser.send('GET', `/api/svc/v1/${path}`)).text
  const [{ id } = { id: 0 }] = await svc.rows<{ id: number }>(
    `select id from ai_providers where provider_id = 'special'`,
  )

  expect((await bob.browser.send('GET', `/api/svc/v1/ai-providers/${id}`)).status).toBe(404)
  expect((await ada.browser.send('GET', `/api/svc/v1/ai-providers/${id}`)).status).toBe(200)
  for (const path of ['ai-providers?include=models', 'system-models?include=model', 'ai-model-descriptions'])
    expect(await related(bob.browser, path)).not.toMatch(/for-staff|behind/)
  expect(await related(ada.browser, 'system-models?include=model')).toContain('for-staff')
  expect(await related(bob.browser, 'ai-models?include=provider')).not.toContain('staff')
  expect(await related(root.browser, 'ai-models')).toContain('"groups":["staff"]')
})

test('in a room the groups of the person who asks decide', async () => {
  const room = await createAiRoom({ svc }, ['editor'])
  const clients = [room.admin, room.editor]
  await svc.host.admin.setGroups({ user: { id: room.editor.id }, groups: ['staff'] })

  const [outsider, insider] = await Promise.all(
    clients.map((by) =>
      requestRoomAnswer(createApiClient(svc as never, by.token), room.id, 'Hello', { model: 'for-staff' }),
    ),
  )

  expect([outsider?.status, insider?.status]).toEqual([422, 200])
})

test('an app asks for its person the models that are for them', async () => {
  const statuses = async (person: typeof ada, name: string) => {
    const app = await addApp(svc, { name, needsKeys: false, abilities: ['ai', 'read'] })
    await establishConnection(person.browser, await app.connectRequest('learner'), {})
    const { apiToken } = await app.secrets('learner')
    return [(await sendQuestion(apiToken, 'for-staff')).status, (await sendQuestion(apiToken, 'open')).status]
  }
  expect(await statuses(ada, 'Portal of Ada')).toEqual([200, 200])
  expect(await statuses(bob, 'Portal of Bob')).toEqual([422, 200])
  // An app has no administrator's rights, even for a person who is an administrator.
  expect(await statuses(root, 'Portal of root')).toEqual([422, 200])
})

test('changes by administrators hold for the next call, and outlast the file', async () => {
  const eve = await svc.user({ username: 'eve' })
  const { token: admin } = await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })
  const [{ id } = { id: 0 }] = await svc.rows<{ id: number }>(`select id from ai_models where model_id = 'open'`)
  const patch = (groups: string[]) =>
    svc.send('PATCH', `/api/svc/v1/ai-models/${id}`, {
      token: admin,
      headers: { 'content-type': 'application/vnd.api+json' },
      body: { data: { type: 'ai-models', id: `${id}`, attributes: { groups } } },
    })
  expect((await sendQuestion(eve.token, 'open')).status).toBe(200)

  expect((await patch(['chess'])).status).toBe(200)
  expect((await sendQuestion(eve.token, 'open')).status).toBe(422)
  await svc.host.models.sync()
  expect((await sendQuestion(eve.token, 'open')).status).toBe(422)
  await svc.host.admin.setGroups({ user: { id: eve.id }, groups: ['chess'] })
  expect((await sendQuestion(eve.token, 'open')).status).toBe(200)
  expect((await patch([])).status).toBe(200)
  expect((await patch(['a\nb'])).status).toBe(422)
})

test('svc models groups says who may use a model, or those of a provider', async () => {
  const { DATABASE_URL = '', DATA_DIR } = svc.env
  const command = (...argv: string[]) => runCommand(argv, { env: { DATABASE_URL, DATA_DIR, DATABASE_POOL: '2' } })

  const changed = await command('models', 'groups', 'special', '--provider', '--groups', 'students')
  expect(changed.stdout).toContain('People in students may use the models of special.')
  expect((await sendQuestion(bob.token, 'behind')).status).toBe(200)
  expect((await sendQuestion(ada.token, 'behind')).status).toBe(422)
  expect((await command('models', 'list')).stdout).toMatch(/behind.*students/)
  expect((await command('models', 'groups', 'special', '--provider', '--groups', '')).stdout).toContain('Everybody may')
  expect((await command('models', 'groups', 'nowhere', '--groups', 'x')).stderr).toContain('There is no model nowhere.')
  await svc.host.models.setGroups({ provider: 'special', groups: ['staff', 'guests'] })
})
