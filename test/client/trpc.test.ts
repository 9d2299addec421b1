import { beforeEach, expect, test } from 'vitest'
import { createClient, SvcError } from '../../facades/client/index.ts'
import { answers, beginStream, buildChunk, refuses, stalls, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { cloneDatabase, runAdminStatement } from '../kit/database.ts'
import { shareResource } from '../kit/share-resource.ts'
import { untilRead } from '../kit/until-read.ts'

const provider = shareResource(startProvider)
const config = shareResource(() => writeConfig(provider.url))
const svc = shareResource(() => startApp({ AI_CONFIG: config.file, AI_MAX_BODY: '2000' }))
beforeEach(() => {
  provider.requests.length = 0
})

const createTokenClient = (svc: TestApp, token: string) => createClient({ url: svc.url, token })
const buildInput = (text = 'Hello', model = 'mock-1') => ({
  model,
  messages: [{ role: 'user' as const, content: { text } }],
})

interface Shape {
  message: string
  code: number
  data: {
    code: string
    httpStatus: number
    problem?: string
    issues?: { path: string[]; message: string }[]
    requestId: string
  }
}

/** Sends a request without the client; returns its status and body. */
async function raw(svc: TestApp, method: string, path: string, options = {}) {
  const response = await svc.send(method, path, options)
  const body = (await response.json()) as { error: Shape } | { error?: Shape }[]
  return { status: response.status, requestId: response.headers.get('x-request-id'), body }
}

test('a procedure over HTTP knows the person of the token', async () => {
  const ada = await svc.user({ username: 'ada' })

  const me = await createTokenClient(svc, ada.token).users.me.query()

  expect(me).toMatchObject({ username: 'ada', email: ada.email })
})

test('a procedure over HTTP is reached through an address that ends with a slash', async () => {
  const { token, username } = await svc.user()

  expect((await createClient({ url: `${svc.url}/`, token }).users.me.query()).username).toBe(username)
})

test('a procedure over HTTP asks a model', async () => {
  provider.behave = answers('Good day to you.')
  const { token } = await svc.user()

  expect(await createTokenClient(svc, token).ai.ask.mutate(buildInput())).toEqual({ text: 'Good day to you.' })
})

test('a procedure over HTTP streams the pieces of an answer, then its usage', async () => {
  const { promise: rest, resolve: goOn } = Promise.withResolvers<void>()
  provider.behave = async (_, response) => {
    beginStream(response)
    response.write(buildChunk({ delta: { content: 'Good ' } }))
    await rest
    response.write(buildChunk({ delta: { content: 'day.' } }))
    response.write(
      buildChunk({ delta: {}, finish_reason: 'stop' }, { usage: { prompt_tokens: 7, completion_tokens: 3 } }),
    )
    response.end('data: [DONE]\n\n')
  }
  const { token } = await svc.user()

  const parts = []
  for await (const part of await createTokenClient(svc, token).ai.stream.mutate(buildInput())) {
    parts.push(part)
    goOn()
  }

  expect(parts).toEqual([
    { type: 'delta', text: 'Good ' },
    { type: 'delta', text: 'day.' },
    { type: 'usage', inputTokens: 7, outputTokens: 3, cachedTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
  ])
})

test('a procedure over HTTP reports a failure after the first piece in the stream', async () => {
  provider.behave = async (_, response) => {
    beginStream(response)
    response.write(buildChunk({ delta: { content: 'Good ' } }))
    await untilRead(response)
    response.destroy()
  }
  const { token } = await svc.user()

  const reading = (async () => {
    for await (const _ of await createTokenClient(svc, token).ai.stream.mutate(buildInput()));
  })()

  const failure = await reading.catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(SvcError)
  expect(failure).toMatchObject({ code: 'provider_broke_off', requestId: expect.any(String) })
})

test('a procedure over HTTP fails as a whole where nothing came before the failure', async () => {
  provider.behave = refuses(400)
  const { token } = await svc.user()

  const failure = await createTokenClient(svc, token)
    .ai.stream.mutate(buildInput())
    .catch((error: unknown) => error)

  expect(failure).toMatchObject({ code: 'provider_failed', requestId: expect.any(String) })
})

test('calls of one moment go out together, and each has its own outcome', async () => {
  const { id, token, username } = await svc.user()
  const client = createTokenClient(svc, token)

  const [me, found, health] = await Promise.allSettled([
    client.users.me.query(),
    client.users.find.query({ user: { id: 1 } }),
    client.health.check.query(),
  ])

  expect(me).toMatchObject({ status: 'fulfilled', value: { username } })
  expect(health).toMatchObject({ status: 'fulfilled', value: { status: 'healthy' } })
  expect(found.status).toBe('rejected')
  expect((found as PromiseRejectedResult).reason).toMatchObject({ code: 'host_only', status: 403 })
  const isCall = (line: string) => line.includes('"msg":"request"') && line.includes(`"userId":${id},`)
  const countLogged = () => svc.log.filter(isCall).length
  await expect.poll(countLogged).toBe(1)
})

test('calls of one moment may be many', async () => {
  const { token, username } = await svc.user()
  const client = createTokenClient(svc, token)

  const all = await Promise.all(Array.from({ length: 100 }, () => client.users.me.query()))

  expect(all.every((me) => me.username === username)).toBe(true)
})

test('a failing call in a batch without a stream leaves the others alone', async () => {
  const { token } = await svc.user()

  const { status, body } = await raw(svc, 'GET', '/trpc/users.me,users.find,nothing.here?batch=1&input={}', { token })

  expect(status).toBe(207)
  expect(body).toMatchObject([
    { result: { data: { username: expect.any(String) } } },
    { error: { data: { problem: 'host_only', requestId: expect.any(String) } } },
    { error: { data: { code: 'NOT_FOUND', requestId: expect.any(String) } } },
  ])
})

test('calls of one moment are refused where they are far too many', async () => {
  const { token } = await svc.user()
  const path = Array.from({ length: 51 }, () => 'users.me').join(',')

  const { status, body, requestId } = await raw(svc, 'GET', `/trpc/${path}?batch=1&input={}`, { token })

  expect(status).toBe(400)
  expect(body).toMatchObject({ error: { data: { requestId } } })
})

const off = { ALLOW_EXTERNAL_COMMUNICATION: 'false' }

test.for([
  { what: 'a bad token', status: 401, problem: 'invalid_token', token: 'rubbish' },
  {
    what: 'external access that is off',
    settings: off,
    status: 403,
    problem: 'external_communication_off',
    token: 'x',
  },
  { what: 'no token', status: 401, problem: 'signed_out', token: undefined },
])('an error names the request after $what', async ({ settings, status, problem, token }) => {
  await using own = settings && (await startApp(settings))

  const answer = await raw(own ?? svc, 'GET', '/trpc/users.me', { token })

  expect(answer.status).toBe(status)
  expect(answer.requestId).toEqual(expect.any(String))
  expect(answer.body).toEqual({
    error: {
      code: expect.any(Number),
      message: expect.any(String),
      data: {
        code: expect.any(String),
        httpStatus: status,
        path: 'users.me',
        problem,
        issues: [],
        requestId: answer.requestId,
      },
    },
  })
})

test.for([
  { what: 'an unknown procedure', method: 'GET', path: '/trpc/nothing.here', status: 404 },
  { what: 'a path above', method: 'GET', path: '/trpc/users', status: 404 },
  { what: 'a mutation by GET', method: 'GET', path: '/trpc/ai.ask', status: 405 },
  { what: 'a body that is no JSON', method: 'POST', path: '/trpc/ai.ask', body: '{"model": CANARY', status: 400 },
  { what: 'input that is no JSON', method: 'GET', path: '/trpc/usage.summary?input=CANARY', status: 400 },
  { what: 'an empty body', method: 'POST', path: '/trpc/ai.ask', body: '', status: 400 },
  { what: 'a batch that is no object', method: 'POST', path: '/trpc/ai.ask?batch=1', body: '7', status: 400 },
])('an error names the request after $what, and nothing of the inside', async ({ method, path, body, status }) => {
  const { token } = await svc.user()

  const answer = await raw(svc, method, path, { token, body })

  const [error] = [answer.body].flat().map((part) => (part as { error: Shape }).error)
  expect(answer.status).toBe(status)
  expect(error?.data.requestId).toBe(answer.requestId)
  expect(JSON.stringify(answer.body)).not.toMatch(/stack|CANARY|\.ts|node_modules/)
})

test('an error lists what is wrong with an input by its path', async () => {
  const { token } = await svc.user()

  const answer = await raw(svc, 'POST', '/trpc/ai.ask', { token, body: { messages: [{ role: 'parrot' }] } })

  expect(answer.status).toBeGreaterThanOrEqual(400)
  expect(answer.body).toMatchObject({
    error: { message: 'The input is not valid.', data: { requestId: answer.requestId } },
  })
  const { issues = [] } = (answer.body as { error: Shape }).error.data
  expect(issues.map(({ path, message }) => `${path.join('.')} ${message}`)).toEqual(
    expect.arrayContaining(['model is required', 'messages.0.role must be one of system, user, assistant']),
  )
})

test('an error comes with 413 for a body that is too large', async () => {
  const { token } = await svc.user()
  const client = createTokenClient(svc, token)

  const error = await client.ai.ask.mutate(buildInput('x'.repeat(3000))).catch((thrown: unknown) => thrown)

  expect(error).toMatchObject({ status: 413, code: 'too_large', requestId: expect.any(String) })
})

test('an error comes with 415 for another kind of body', async () => {
  const { token } = await svc.user()

  const answer = await raw(svc, 'POST', '/trpc/ai.ask', {
    token,
    body: 'a=b',
    headers: { 'content-type': 'text/csv' },
  })

  expect(answer.status).toBe(415)
  expect(answer.body).toMatchObject({ error: { data: { httpStatus: 415, requestId: answer.requestId } } })
})

test('an error says 503 while the database is gone, and the log says why', async () => {
  await using database = await cloneDatabase()
  await using svc = await startApp({ DATABASE_URL: database.url })
  const { token } = await svc.user()
  await runAdminStatement(`drop database ${database.name} with (force)`)

  const error = await createTokenClient(svc, token)
    .users.me.query()
    .catch((thrown: unknown) => thrown)

  expect(error).toMatchObject({ status: 503, code: 'unavailable', requestId: expect.any(String) })
  expect(String(error)).not.toMatch(/svc_test|database .* does not exist|postgres/i)
  const { requestId = '' } = error as SvcError
  expect(svc.log.some((line) => line.includes(requestId) && line.includes('3D000'))).toBe(true)
  await runAdminStatement(`create database ${database.name}`)
})

test('an error is none of the service where nothing listens', async () => {
  const client = createClient({ url: 'http://127.0.0.1:9', token: 'x' })

  const error = await client.users.me.query().catch((thrown: unknown) => thrown)

  expect(error).toBeInstanceOf(SvcError)
  expect(error).toMatchObject({ code: 'unreachable', status: undefined, issues: [] })
})

test("a departing caller ends the provider's call, and the record says so", async () => {
  provider.behave = stalls
  const { id, token } = await svc.user()
  const controller = new AbortController()

  const pendingCall = createTokenClient(svc, token).ai.ask.mutate(buildInput(), { signal: controller.signal })
  const gone = expect(pendingCall).rejects.toThrow()
  await expect.poll(() => provider.requests.length).toBe(1)
  controller.abort()
  await gone

  await expect.poll(() => provider.requests[0]?.abortedAt).toBeDefined()
  await expect
    .poll(() => svc.rows('select outcome from usage_records where user_id = $1', [id]))
    .toEqual([{ outcome: 'aborted' }])
})

test('a caller who goes away in the middle of a stream ends the call', async () => {
  provider.behave = async (_, response) => {
    beginStream(response)
    response.write(buildChunk({ delta: { content: 'Good ' } }))
  }
  const { id, token } = await svc.user()

  for await (const _ of await createTokenClient(svc, token).ai.stream.mutate(buildInput())) break

  await expect.poll(() => provider.requests[0]?.abortedAt).toBeDefined()
  await expect
    .poll(() => svc.rows('select outcome from usage_records where user_id = $1', [id]))
    .toEqual([{ outcome: 'aborted' }])
})
