import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildModel, buildProvider } from '../kit/ai/model-config.ts'
import { answers, buildQuestion, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { APPS_ON, addApp, establishConnection } from '../kit/apps/ext-app.ts'
import { signIn } from '../kit/browser.ts'
import { watchStatements } from '../kit/statements.ts'

const resources = new AsyncDisposableStack()
/** Two replicas: one changes permissions; the other one gets the calls, and has cached each caller. */
let changingReplica: TestApp
let calledReplica: TestApp
let upstream: Awaited<ReturnType<typeof startProvider>>

beforeAll(async () => {
  upstream = resources.use(await startProvider(answers('Good day.')))
  const config = resources.use(await writeConfig(upstream.url))
  const models = [buildModel('mock-1'), buildModel('embeds', { modelType: 'embedding' })]
  await config.write({ providers: [buildProvider('local', models, { apiUrl: upstream.url })], systemModels: {} })
  const settings = { ...APPS_ON, AI_CONFIG: config.file }
  changingReplica = resources.use(await startApp(settings))
  const { DATABASE_URL = '', DATA_DIR } = changingReplica.env
  calledReplica = resources.use(await startApp({ ...settings, DATABASE_URL, DATA_DIR }))
})
afterAll(() => resources.disposeAsync())

const sendQuestion = (token: string, body: object = buildQuestion()) =>
  calledReplica.send('POST', '/api/ai-req', { token, body })
const idOf = (token: string) => Number(token.split('_')[1])

/** Creates a person whom the called replica has just answered. */
async function addSeenCaller() {
  const person = await changingReplica.user()
  expect((await sendQuestion(person.token)).status).toBe(200)
  return { ...person, user: { id: person.id } }
}

type Seen = Awaited<ReturnType<typeof addSeenCaller>>

const endings: [string, (who: Seen) => unknown][] = [
  ['the token is revoked', ({ user, token }) => changingReplica.host.tokens.revokeFor({ user, tokenId: idOf(token) })],
  [
    'the token expires',
    ({ token }) =>
      changingReplica.rows(`update access_tokens set expires_at = now() - interval '1 s' where id = ${idOf(token)}`),
  ],
  ['the person is removed', ({ user }) => changingReplica.host.admin.removeUser({ user })],
]

describe('a caller who was just answered is refused by every replica once', () => {
  test.for(endings)('%s', async ([, end]) => {
    const who = await addSeenCaller()
    const before = upstream.requests.length
    await end(who)
    expect((await sendQuestion(who.token)).status).toBe(401)
    expect(upstream.requests.length).toBe(before)
  })

  test('an administrator switches the app off that holds the token', async () => {
    const app = await addApp(changingReplica, { needsKeys: false })
    const { browser } = await signIn(changingReplica, 'learner')
    expect((await establishConnection(browser, await app.connectRequest('learner'), {})).status).toBe(200)
    const { apiToken } = await app.secrets('learner')
    expect((await sendQuestion(apiToken)).status).toBe(200)
    const before = upstream.requests.length

    const { token } = await changingReplica.user({ role: 'admin', abilities: ['write'] })
    const headers = { 'content-type': 'application/vnd.api+json' }
    const body = { data: { type: 'ext-apps', id: app.id, attributes: { active: false } } }
    const path = `/api/svc/v1/ext-apps/${app.id}`
    expect((await changingReplica.send('PATCH', path, { token, headers, body })).status).toBe(200)

    expect((await sendQuestion(apiToken)).status).toBe(401)
    expect(upstream.requests.length).toBe(before)
  })
})

const messages = [{ role: 'user', content: 'Hello' }]
const chat = { model: 'mock-1', messages }
const stream = { stream: true }
const ways: [string, string, object][] = [
  ['a question', '/api/ai-req', buildQuestion()],
  ['a chat', '/v1/chat/completions', chat],
  ['a streamed chat', '/v1/chat/completions', { ...chat, ...stream }],
  ['a response', '/v1/responses', { model: 'mock-1', input: 'Hello' }],
  ['a message', '/v1/messages', { ...chat, max_tokens: 10 }],
  ['a streamed message', '/v1/messages', { ...chat, ...stream, max_tokens: 10 }],
  [
    'the stream of older front ends',
    '/req/streamAI',
    { payload: { ...chat, messages: buildQuestion().payload.messages } },
  ],
  ['embeddings', '/v1/embeddings', { model: 'embeds', input: 'Hello' }],
]
const limits = [['no limit'], ['enforce'], ['observe']] as const
const waysByLimit = limits.flatMap(([mode]) => ways.map((way) => [mode, ...way] as const))

describe('a revoked token asks no model under any limit on any surface', () => {
  test.for(waysByLimit)('%s: %s', async ([mode, , path, body]) => {
    const { token, user } = await changingReplica.user().then((person) => ({ ...person, user: { id: person.id } }))
    const limit = { name: `of ${user.id}`, for: 'user', cap: 1000, unit: 'requests', per: 'day' } as const
    if (mode !== 'no limit') await changingReplica.host.limits.set({ ...limit, mode })
    const send = () => calledReplica.send('POST', path, { token, body })
    expect((await sendQuestion(token)).status).toBe(200)
    const before = upstream.requests.length
    await changingReplica.host.tokens.revokeFor({ user, tokenId: idOf(token) })

    const { status } = await send()

    expect([status, upstream.requests.length]).toEqual([401, before])
    await calledReplica.services.ai.usageLedger.flush()
    expect(await changingReplica.rows(`select id from usage_holds where user_id = ${user.id}`)).toEqual([])
    if (mode !== 'no limit') await changingReplica.host.limits.remove({ name: limit.name })
  })
})

describe('a revoked token does not reveal', () => {
  const revokeToken = async () => {
    const { user, token } = await addSeenCaller()
    await changingReplica.host.tokens.revokeFor({ user, tokenId: idOf(token) })
    return token
  }

  test.for<[string, string, object | string]>([
    ['which models there are', '/api/ai-req', buildQuestion('Hello', 'nobody-knows-it')],
    ['what is wrong with a question', '/api/ai-req', { payload: { model: 'mock-1' } }],
    ['that a body is no JSON', '/api/ai-req', '{'],
    ['which parameters a protocol knows', '/v1/chat/completions', { model: 'mock-1', messages: [], unknown: true }],
    ['which texts can be embedded', '/v1/embeddings', { model: 'mock-1', input: 1 }],
    ['how messages must be', '/v1/messages', { model: 'mock-1' }],
    ['how many tokens a question takes', '/v1/messages/count_tokens', { model: 'mock-1', messages: [] }],
  ])('%s', async ([, path, body]) => {
    const headers = { 'content-type': 'application/json' }
    const { status } = await calledReplica.send('POST', path, { token: await revokeToken(), headers, body })
    expect(status).toBe(401)
  })

  test('its person', async () => {
    expect((await calledReplica.send('GET', '/api/user', { token: await revokeToken() })).status).toBe(401)
  })
})

test('a wrong secret for a recently seen token is refused', async () => {
  const { token } = await addSeenCaller()
  const [kind, id, secret = ''] = token.split('_')
  const other = [...secret].reverse().join('')
  expect((await sendQuestion([kind, id, other].join('_'))).status).toBe(401)
})

test('the limits of a group hold from the first question after somebody joined it', async () => {
  const limit = { name: 'guests', for: 'group:guests', cap: 0, unit: 'requests', per: 'day' } as const
  await changingReplica.host.limits.set({ ...limit, confirm: true })
  const { user, token } = await addSeenCaller()
  await changingReplica.host.admin.setGroups({ user, groups: ['guests'] })
  expect((await sendQuestion(token)).status).toBe(429)
  await changingReplica.host.admin.setGroups({ user, groups: [] })
  expect((await sendQuestion(token)).status).toBe(200)
})

test('of many concurrent callers only the one with the revoked token is refused', async () => {
  const people = await Promise.all(Array.from({ length: 12 }, addSeenCaller))
  const [first] = people as [Seen]
  await changingReplica.host.tokens.revokeFor({ user: first.user, tokenId: idOf(first.token) })
  const answered = await Promise.all(people.map(async ({ token }) => (await sendQuestion(token)).status))
  expect(answered).toEqual([401, ...Array(11).fill(200)])
  await calledReplica.services.ai.usageLedger.flush()
  expect(await changingReplica.rows('select id from usage_holds')).toEqual([])
})

describe('a question', () => {
  const statements = watchStatements()

  test('looks up its caller once', async () => {
    const { token } = await changingReplica.user()
    const names: string[][] = []
    for (let turn = 0; turn < 2; turn++) {
      expect((await sendQuestion(token)).status).toBe(200)
      await calledReplica.services.ai.usageLedger.flush()
      names.push(statements.take().flatMap(({ name }) => name ?? []))
    }
    const lookUps = names.map((some) => some.filter((name) => name === 'find-token-owners').length)
    expect(lookUps).toEqual([1, 1])
  })
})

test("a revoked token uses nothing of its person's rate limit", async () => {
  await using strict = await startApp({
    AI_CONFIG: String(calledReplica.env['AI_CONFIG']),
    DATABASE_URL: String(calledReplica.env.DATABASE_URL),
    RATE_LIMIT_AI_PER_MINUTE: '3',
  })
  const { id, token } = await changingReplica.user()
  const other = await changingReplica.host.tokens.createFor({ user: { id }, name: 'other' })
  const sendAs = async (by: string) =>
    (await strict.send('POST', '/api/ai-req', { token: by, body: buildQuestion() })).status
  expect(await sendAs(token)).toBe(200)
  await changingReplica.host.tokens.revokeFor({ user: { id }, tokenId: idOf(token) })
  for (let turn = 0; turn < 5; turn++) expect(await sendAs(token)).toBe(401)
  expect(await sendAs(other.token)).toBe(200)
})
