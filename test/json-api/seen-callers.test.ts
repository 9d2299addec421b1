import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildModel, buildProvider } from '../kit/ai/model-config.ts'
import { writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { watchStatements } from '../kit/statements.ts'

const resources = new AsyncDisposableStack()
/** Two replicas: one changes access rights, and the other one, which has seen each caller, gets the requests. */
let changing: TestApp
let svc: TestApp

beforeAll(async () => {
  const config = resources.use(await writeConfig(''))
  const models = [buildModel('seen-1'), buildModel('seen-2'), buildModel('hidden', { external: false })]
  await config.write({ providers: [buildProvider('local', models)], systemModels: {} })
  changing = resources.use(await startApp({ AI_CONFIG: config.file }))
  const { DATABASE_URL = '', DATA_DIR, AI_CONFIG = '' } = changing.env
  svc = resources.use(await startApp({ DATABASE_URL, DATA_DIR, AI_CONFIG }))
})
afterAll(() => resources.disposeAsync())

const read = (token: string, path = '/ai-models') => svc.send('GET', `/api/svc/v1${path}`, { token })
const idOf = (token: string) => Number(token.split('_')[1])

/** A person whose token the other replica has just seen. */
async function seen(more: Parameters<TestApp['user']>[0] = {}) {
  const person = await changing.user(more)
  expect((await read(person.token)).status).toBe(200)
  return { ...person, user: { id: person.id } }
}

async function revoked() {
  const { user, token } = await seen()
  await changing.host.tokens.revokeFor({ user, tokenId: idOf(token) })
  return token
}

describe('a token that was revoked a moment ago reads nothing on any replica', () => {
  test.for([
    '/ai-models',
    '/ai-models?page[number]=900',
    '/ai-models?sort=modelId,-createdAt',
    '/ai-models?include=provider,descriptions',
    '/ai-models?unknown=1',
    '/ai-models/1',
    '/ai-models/1?include=provider',
    '/ai-models/999999',
    '/ai-models/1/provider',
    '/ai-models/1/relationships/tools',
    '/ai-models/999999/descriptions',
    '/ai-providers',
    '/system-models',
    '/rooms',
    '/users/me',
  ])('%s', async (path) => {
    expect((await read(await revoked(), path)).status).toBe(401)
  })

  test('nor by HEAD, nor to be told that it knows the answer already', async () => {
    const { user, token } = await seen()
    const etag = (await read(token)).headers.get('etag') ?? ''
    const send = (method: string, headers = {}) => svc.send(method, '/api/svc/v1/ai-models', { token, headers })
    const known = { 'if-none-match': etag }
    expect([(await send('HEAD')).status, (await send('GET', known)).status]).toEqual([200, 304])
    await changing.host.tokens.revokeFor({ user, tokenId: idOf(token) })
    expect([(await send('HEAD')).status, (await send('GET', known)).status]).toEqual([401, 401])
  })

  test('nor does one that expired, or whose person is gone', async () => {
    const [expired, gone] = [await seen(), await seen()]
    await changing.rows(
      `update access_tokens set expires_at = now() - interval '1 s' where id = ${idOf(expired.token)}`,
    )
    await changing.host.admin.removeUser({ user: gone.user })
    expect([(await read(expired.token)).status, (await read(gone.token)).status]).toEqual([401, 401])
  })
})

test('who is an administrator no more sees what everybody sees with the next read', async () => {
  const { user, token } = await seen({ role: 'admin', abilities: ['read', 'write'] })
  const names = async () => {
    const { data } = (await (await read(token)).json()) as { data: { attributes: { modelId: string } }[] }
    return data.map(({ attributes }) => attributes.modelId)
  }
  const included = async () => {
    const { data } = (await (await read(token, '/ai-providers?include=models')).json()) as typeof everything
    return data[0]?.relationships.models.data.length
  }
  const everything = { data: [{ relationships: { models: { data: [] as object[] } } }] }
  expect([await names(), await included()]).toEqual([['seen-1', 'seen-2', 'hidden'], 3])
  await changing.host.admin.setRole({ user, role: 'user' })
  expect([await included(), await names()]).toEqual([2, ['seen-1', 'seen-2']])
  await changing.host.admin.setRole({ user, role: 'admin' })
  expect(await names()).toEqual(['seen-1', 'seen-2', 'hidden'])
})

test('concurrent reads with revoked tokens are refused, and others get equal responses', async () => {
  const people = await Promise.all(Array.from({ length: 12 }, () => seen()))
  for (const { user, token } of people.slice(0, 3)) await changing.host.tokens.revokeFor({ user, tokenId: idOf(token) })
  const answers = await Promise.all(
    people.map(async ({ token }) => {
      const answer = await read(token)
      return { status: answer.status, text: answer.status === 200 ? await answer.text() : '' }
    }),
  )
  expect(answers.map(({ status }) => status)).toEqual([...Array(3).fill(401), ...Array(9).fill(200)])
  expect(new Set(answers.slice(3).map(({ text }) => text)).size).toBe(1)
})

test('a page behind the last one is empty, and knows how many there are', async () => {
  const { token } = await seen()
  expect(await (await read(token, '/ai-models?page[number]=900')).json()).toMatchObject({
    data: [],
    meta: { page: { total: 2 } },
  })
})

describe('who reads', () => {
  const statements = watchStatements()

  test('is looked up once for each read', async () => {
    const { token } = await changing.user()
    statements.take()
    const counts: number[] = []
    for (let turn = 0; turn < 2; turn++) {
      expect((await read(token, '/ai-models/1')).status).toBe(200)
      counts.push(statements.take().length)
    }
    expect(counts).toEqual([2, 2])
  })
})
