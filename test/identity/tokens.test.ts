// @module-tag debian

import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { generateSecret, hashSecret, writeToken } from '../../entities/identity/token-format.ts'
import { buildQuestion } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { signIn } from '../kit/browser.ts'
import { runAdminStatement } from '../kit/database.ts'
import { makePublicKey, newName } from '../kit/identity/people.ts'

const APP_KEY = randomBytes(32).toString('base64')

let svc: TestApp
/** Second installation, which allows each person one question a minute. */
let rateLimitedApp: TestApp
beforeAll(async () => {
  svc = await startApp({ APP_KEY })
  rateLimitedApp = await startApp({ RATE_LIMIT_AI_PER_MINUTE: '1' })
})
afterAll(async () => {
  await svc[Symbol.asyncDispose]()
  await rateLimitedApp[Symbol.asyncDispose]()
})

const sendQuestion = (svc: TestApp, token: string | undefined, headers: Record<string, string> = {}) =>
  svc.send('POST', '/api/ai-req', { token, headers, body: buildQuestion('Hello', 'demo') })

const secretOf = (token: string) => token.split('_')[2] ?? ''

describe('a personal access token', () => {
  test('a personal access token opens the AI request and the profile', async () => {
    const { token } = await svc.user()

    expect((await sendQuestion(svc, token)).status).toBe(200)
    expect((await svc.send('GET', '/api/user', { token })).status).toBe(200)
  })

  const spoiled: [name: string, spoil: (token: string) => string][] = [
    ['another secret', (token) => writeToken({ id: Number(token.split('_')[1]), secret: generateSecret() })],
    ['another id', (token) => token.replace(/^svc_\d+/, 'svc_999999')],
    ['an id beyond all ids', (token) => token.replace(/^svc_\d+/, 'svc_9999999999')],
    ['a letter changed', (token) => token.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'))],
    ['a letter missing', (token) => token.slice(0, -1)],
    ['a letter more', (token) => `${token}0`],
    ['nothing but its id', () => 'svc_1_'],
    ['some other text', () => 'let-me-in'],
    ['a quotation mark', () => "svc_1_'; drop table users; --"],
    ['the imported form and another secret', (token) => `${token.split('_')[1]}|${randomBytes(20).toString('hex')}`],
    ['very much text', () => 'x'.repeat(10_000)],
  ]

  test('a personal access token is refused when anything about it is wrong', async () => {
    const { token } = await svc.user()

    for (const [name, spoil] of spoiled) {
      const response = await sendQuestion(svc, spoil(token))

      expect.soft(response.status, name).toBe(401)
      expect.soft(response.headers.get('www-authenticate'), name).toBe('Bearer')
      expect.soft(await response.json(), name).toEqual({
        success: false,
        message: 'The access token is not valid.',
        code: 'invalid_token',
        requestId: response.headers.get('x-request-id'),
      })
    }
    expect((await sendQuestion(svc, token)).status).toBe(200)
  })

  test.for([
    ['GET', '/api/svc/v1/users'],
    ['GET', '/v1/models'],
    ['GET', '/trpc/users.me'],
    ['POST', '/api/broadcasting/auth'],
    ['GET', '/req/profile/fetch-tokens'],
    ['GET', '/req/announcement/fetchLatestPolicy'],
  ] as const)('a wrong token is answered with a challenge at %s %s', async ([method, path]) => {
    for (const headers of [{}, { 'anthropic-version': '2023-06-01' }]) {
      const response = await svc.send(method, path, { token: 'svc_1_wrong', headers })

      expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    }
  })

  test('a personal access token is refused in any other kind of header', async () => {
    const { token } = await svc.user()

    for (const authorization of [`Basic ${token}`, 'Bearer', 'Bearer ', 'bearer  ', `Token ${token}`, token, '']) {
      expect.soft((await sendQuestion(svc, undefined, { authorization })).status, authorization).toBe(401)
    }
  })

  test('a personal access token is asked for when there is none', async () => {
    const response = await sendQuestion(svc, undefined)

    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ success: false, code: 'signed_out' })
  })

  test('a personal access token is no longer valid once it has expired', async () => {
    const { id, token } = await svc.user()
    await svc.rows("update access_tokens set expires_at = now() - interval '1 second' where user_id = $1", [id])

    expect((await sendQuestion(svc, token)).status).toBe(401)
  })

  test('a personal access token is logged by ids when it is made and revoked', async () => {
    const { browser, id } = await signIn(svc, newName())
    const tokenLines = () =>
      svc.log
        .map((line) => JSON.parse(line))
        .filter(({ tokenId, userId, msg }) => tokenId && userId === id && msg.startsWith('a token was'))
    const send = (path: string, body: object) => browser.send('POST', `/req/profile/${path}`, { body })
    const [before] = tokenLines()
    expect(before).toMatchObject({ msg: 'a token was made', by: 'host', userId: id, abilities: ['ai', 'user', 'read'] })

    const { id: tokenId, token } = (await send('create-token', { name: 'hunter' })).body
    await send('revoke-token', { tokenId })
    await send('revoke-token', { tokenId })

    const mine = { by: `user:${id}`, userId: id, tokenId, requestId: expect.any(String), level: 30 }
    expect(tokenLines().slice(1)).toMatchObject([
      { ...mine, msg: 'a token was made' },
      { ...mine, msg: 'a token was revoked' },
    ])
    for (const secret of ['hunter', secretOf(String(token))]) expect(svc.log.join('')).not.toContain(secret)
  })

  test('a personal access token is deleted a month after expiry, and its usage stays', async () => {
    const people = [await svc.user(), await svc.user(), await svc.user()]
    const ids = people.map(({ id }) => id)
    const expireToken = (id: number | undefined, ago: string) =>
      svc.rows('update access_tokens set expires_at = now() - $2::interval where user_id = $1', [id, ago])
    const owners = () => svc.rows('select user_id as id from access_tokens where user_id = any($1) order by id', [ids])
    for (const { token } of people) expect((await sendQuestion(svc, token)).status).toBe(200)
    const records = () =>
      svc.rows<{ token_id: number | null }>(
        'select token_id from usage_records where user_id = any($1) order by user_id',
        [ids],
      )
    await expect.poll(async () => (await records()).length).toBe(3)
    const [old, recent, endless] = people
    await expireToken(old?.id, '31 days')
    await expireToken(recent?.id, '29 days')
    const before = await records()

    expect(await svc.host.tokens.deleteExpired()).toEqual({ deleted: 1 })

    expect(await owners()).toEqual([{ id: recent?.id }, { id: endless?.id }])
    expect(await records()).toEqual([{ token_id: null }, ...before.slice(1)])
    expect(await svc.host.tokens.deleteExpired()).toEqual({ deleted: 0 })
  })

  test('all tokens that expired long ago are deleted except those that apps hold', async () => {
    const { id } = await svc.user()
    await svc.rows(
      `insert into access_tokens (user_id, name, hash, holder, abilities, expires_at)
       select $1, 'old', repeat('0', 64), case when n = 1 then 'app' else 'person' end, '{ai}', now() - interval '1 year'
         from generate_series(1, 251) n`,
      [id],
    )

    expect(await svc.host.tokens.deleteExpired()).toEqual({ deleted: 250 })
    expect(await svc.rows('select holder from access_tokens where user_id = $1 order by id', [id])).toEqual([
      { holder: 'person' },
      { holder: 'app' },
    ])
  })

  test('a personal access token is invalid on every replica once it is revoked', async () => {
    await using replica = await startApp({ APP_KEY, DATABASE_URL: svc.env.DATABASE_URL ?? '' })
    const { id, token } = await svc.user()
    expect((await sendQuestion(replica, token)).status).toBe(200)

    await svc.host.tokens.revokeFor({ user: { id }, tokenId: Number(token.split('_')[1]) })

    expect((await sendQuestion(svc, token)).status).toBe(401)
    expect((await sendQuestion(replica, token)).status).toBe(401)
  })

  test('a personal access token dies with the user', async () => {
    const { id, token } = await svc.user()

    await svc.host.admin.removeUser({ user: { id } })

    expect((await sendQuestion(svc, token)).status).toBe(401)
  })

  test('a personal access token of another installation is refused', async () => {
    const { token } = await rateLimitedApp.user()
    const tokenId = Number(token.split('_')[1])
    const last = async () => Number((await svc.user()).token.split('_')[1])
    while ((await last()) < tokenId);

    expect((await sendQuestion(svc, token)).status).toBe(401)
  })

  test('a personal access token that was imported works in its own form', async () => {
    const { id } = await svc.user()
    const secret = randomBytes(20).toString('hex')
    const [row] = await svc.rows<{ id: number }>(
      `insert into access_tokens (user_id, name, hash, abilities) values ($1, 'imported', $2, '{ai}') returning id`,
      [id, hashSecret(secret)],
    )

    expect((await sendQuestion(svc, `${row?.id}|${secret}`)).status).toBe(200)
    expect((await sendQuestion(svc, `${row?.id}|${secret}x`)).status).toBe(401)
  })

  test('a personal access token keeps only the hash of its secret in the database', async () => {
    const { id, token } = await svc.user()

    const [row] = await svc.rows<{ row: string }>('select t::text as row from access_tokens t where user_id = $1', [id])

    expect(row?.row).toContain(hashSecret(secretOf(token).slice(0, 40)))
    expect(row?.row).not.toContain(secretOf(token))
    expect(row?.row).not.toContain(secretOf(token).slice(0, 40))
  })

  test('a personal access token with a wrong checksum is refused without the database', async () => {
    await using svc = await startApp()
    const { token } = await svc.user()
    const spoiled = token.replace(/.$/, (last) => (last === 'x' ? 'y' : 'x'))
    await runAdminStatement(`alter database ${nameOf(svc)} with allow_connections false`)
    await runAdminStatement(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${nameOf(svc)}'`)

    expect((await sendQuestion(svc, spoiled)).status).toBe(401)
    expect((await sendQuestion(svc, 'garbage')).status).toBe(401)
    expect((await sendQuestion(svc, token)).status).toBe(503)
  })

  test('a personal access token records its last use without delaying the request', async () => {
    const { id, token } = await svc.user()
    await sendQuestion(svc, token)

    await svc.authenticator.flush()

    const used = 'select last_used_at is not null as used from access_tokens where user_id = $1'
    expect(await svc.rows(used, [id])).toEqual([{ used: true }])
  })
})

describe('the checks before a model is asked', () => {
  const bodies = { fine: buildQuestion('Hello', 'demo'), wrong: {} }

  describe('while the external switch is off', () => {
    let svc: TestApp
    beforeAll(async () => {
      svc = await startApp({ ALLOW_EXTERNAL_COMMUNICATION: 'false' })
    })
    afterAll(() => svc[Symbol.asyncDispose]())

    test('the checks before a model is asked begin with the external switch: 403', async () => {
      const { token } = await svc.user()

      for (const bearer of [undefined, 'bad', token]) {
        for (const body of [bodies.fine, bodies.wrong, '{"']) {
          const response = await svc.send('POST', '/api/ai-req', { token: bearer, body })

          expect(response.status).toBe(403)
          expect(await response.json()).toMatchObject({ success: false, code: 'external_communication_off' })
        }
      }
    })

    test('the checks before a model is asked refuse the profile as well when off', async () => {
      const { token } = await svc.user()

      expect((await svc.send('GET', '/api/user', { token })).status).toBe(403)
      expect((await svc.send('GET', '/api/user')).status).toBe(403)
    })
  })

  test('the checks before a model is asked are: token, ability, body, then limit', async () => {
    const { token } = await rateLimitedApp.user()
    const { token: reader } = await rateLimitedApp.user({ abilities: ['read', 'user'] })
    const statusOf = async (bearer: string | undefined, body: unknown) =>
      (await rateLimitedApp.send('POST', '/api/ai-req', { token: bearer, body })).status

    expect(await statusOf(undefined, bodies.wrong)).toBe(401)
    expect(await statusOf('bad', '{"')).toBe(401)
    expect(await statusOf(reader, bodies.wrong)).toBe(403)
    expect(await statusOf(reader, bodies.fine)).toBe(403)
    expect(await statusOf(token, bodies.wrong)).toBe(422)
    expect(await statusOf(token, bodies.fine)).toBe(200)
    expect(await statusOf(token, bodies.wrong)).toBe(422)
    expect(await statusOf(token, bodies.fine)).toBe(429)
  })

  test('the checks before a model is asked name the ability that a token lacks', async () => {
    const { token } = await svc.user({ abilities: ['read'] })

    const answer = await sendQuestion(svc, token)
    const profile = await svc.send('GET', '/api/user', { token })

    expect(answer.status).toBe(403)
    expect(await answer.json()).toMatchObject({
      code: 'missing_ability',
      message: "The access token lacks the ability 'ai'.",
    })
    expect(profile.status).toBe(403)
    expect(await profile.json()).toMatchObject({ message: "The access token lacks the ability 'user'." })
  })

  test('the checks before a model is asked leave no usage record when they refuse', async () => {
    const svc = rateLimitedApp
    const { token } = await svc.user()
    const { token: reader } = await svc.user({ abilities: ['read'] })
    await svc.services.ai.usageLedger.flush()
    const [{ last } = { last: 0 }] = await svc.rows<{ last: number }>(
      'select coalesce(max(id), 0)::int as last from usage_records',
    )
    for (const bearer of [undefined, 'bad', reader]) await sendQuestion(svc, bearer)
    await svc.send('POST', '/api/ai-req', { token, body: bodies.wrong })
    await svc.send('POST', '/api/ai-req', { token, body: buildQuestion('Hello', 'unknown') })
    expect((await sendQuestion(svc, token)).status).toBe(200)
    expect((await sendQuestion(svc, token)).status).toBe(429)

    await svc.services.ai.usageLedger.flush()

    expect(await svc.rows('select outcome from usage_records where id > $1', [last])).toEqual([
      { outcome: 'completed' },
    ])
  })
})

describe('GET /api/user', () => {
  test('GET /api/user tells who the token belongs to, and where this is going', async () => {
    const { id, token } = await svc.user({ username: 'ada' })

    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)

    const response = await svc.send('GET', '/api/user', { token })

    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      id,
      username: 'ada',
      name: 'The ada',
      email: 'ada@example.org',
      role: 'user',
      bio: null,
      avatar: null,
      avatar_id: null,
      publicKey: makePublicKey('ada'),
      createdAt: time,
      updatedAt: time,
      created_at: time,
      updated_at: time,
    })
    expect(response.headers.get('deprecation')).toMatch(/^@\d{10}$/)
    expect(response.headers.get('link')).toBe('</api/svc/v1/users/me>; rel="successor-version"')
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  test('GET /api/user has no neighbours that answer', async () => {
    const { token } = await svc.user()
    const paths = ['GET /api/ai-req', 'PUT /api/ai-req', 'PATCH /api/ai-req', 'DELETE /api/ai-req', 'POST /api/user']

    for (const request of [...paths, 'PATCH /api/user', 'GET /api/no-such-thing']) {
      const [method = '', path = ''] = request.split(' ')
      const response = await svc.send(method, path, { token, ...(method !== 'GET' && { body: { canary: 'CANARY' } }) })
      const text = await response.text()

      expect.soft([404, 405], request).toContain(response.status)
      expect
        .soft(JSON.parse(text), request)
        .toMatchObject({ success: false, requestId: response.headers.get('x-request-id') })
      expect.soft(text, request).not.toMatch(/canary|fastify|route/i)
    }
  })
})

const nameOf = (svc: TestApp) => new URL(svc.env.DATABASE_URL ?? '').pathname.slice(1)
