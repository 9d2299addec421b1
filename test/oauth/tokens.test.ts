import { afterEach, describe, expect, test, vi } from 'vitest'
import { PASSWORD, signIn, type TestBrowser } from '../kit/browser.ts'
import { advanceClock } from '../kit/clock.ts'
import { newName } from '../kit/identity/people.ts'
import { APP_KEY } from '../kit/identity/sessions.ts'
import {
  callFromPage,
  postForm,
  registerProgram,
  requestCode,
  signInProgram,
  startOAuth,
  startPersonWithProgram,
  tryToken,
} from '../kit/oauth/program.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startOAuth({ OAUTH_ABILITIES: 'mcp,ai', APP_KEY }))

afterEach(() => void vi.useRealTimers())

const MINUTE_MS = 60_000
const NEW_PASSWORD = { currentPassword: PASSWORD, newPassword: 'quite another one' }
type Owner = Pick<Awaited<ReturnType<typeof signIn>>, 'browser' | 'id'>

describe('a refresh', () => {
  test('gives new tokens, and earlier access tokens work to their ends', async () => {
    const { program } = await startPersonWithProgram(svc, 'ada')
    const [row] = await svc.rows<{ id: number }>(`select token_id as id from oauth_grants order by id desc limit 1`)

    const first = await program.refresh()
    const second = await program.refresh(String(first.body['refresh_token']))

    const issued = [program.tokens, first.body, second.body].map((body) => String(body.access_token))
    expect(new Set(issued).size).toBe(3)
    expect(await Promise.all(issued.map((token) => tryToken(svc, token)))).toEqual([200, 200, 200])
    expect(
      issued.every((token) => token.startsWith(`svc_${row?.id}_`)),
      'one token row for the whole life',
    ).toBe(true)
    expect(second.body).toMatchObject({ token_type: 'Bearer', expires_in: 8 * 3600, scope: 'mcp ai' })
    expect([second.headers.get('cache-control'), second.headers.get('pragma')]).toEqual(['no-store', 'no-cache'])
  })

  test('gives the same answer to five processes at once, at two replicas', async () => {
    const { program } = await startPersonWithProgram(svc, 'bob')
    const { DATABASE_URL = '', BASE_URL = '' } = svc.env
    await using other = await startOAuth({ DATABASE_URL, BASE_URL, APP_KEY })

    const answers = await Promise.all([svc, other, svc, other, svc].map((at) => program.refresh(undefined, at)))

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(new Set(answers.map(({ body }) => body['access_token'])).size).toBe(1)
    expect(new Set(answers.map(({ body }) => body['refresh_token'])).size).toBe(1)
    expect(await tryToken(svc, program.tokens.access_token)).toBe(200)
    expect((await program.refresh(String(answers[0]?.body['refresh_token']))).status).toBe(200)
  })

  test('with an old token after a minute ends the access and tells the person', async () => {
    const { browser, id, program } = await startPersonWithProgram(svc, 'cleo')
    const newest = await program.refresh()
    advanceClock(MINUTE_MS + 1000)

    const replayed = await program.refresh()

    vi.useRealTimers()
    expect([replayed.status, replayed.body['error']]).toEqual([400, 'invalid_grant'])
    expect(await tryToken(svc, String(newest.body['access_token']))).toBe(401)
    expect((await program.refresh(String(newest.body['refresh_token']))).status).toBe(400)
    const { data } = await callFromPage(browser, 'oauth.grants')
    expect(data).toMatchObject([{ name: 'Test program', replayedAt: expect.any(String) }])
    const listEntries = () =>
      svc.rows<{ act: string; change: string }>(
        `select act, change::text as change from audit_entries where subject = $1 and act like 'oauth.%' order by seq`,
        [`user:${id}`],
      )
    await expect.poll(listEntries).toMatchObject([{ act: 'oauth.agree' }, { act: 'oauth.replayed' }])
    const entries = await listEntries()
    const secrets = [program.tokens, newest.body].flatMap((body) => [body.access_token, body.refresh_token].map(String))
    const written = JSON.stringify(entries) + svc.log.join('')
    expect(secrets.filter((secret) => written.includes(secret.slice(-46)))).toEqual([])
  })

  test('with a made-up token, or one of another client, ends nothing', async () => {
    const { program } = await startPersonWithProgram(svc, 'dora')
    const { refresh_token } = program.tokens
    const other = await registerProgram(svc)
    const [, grant] = /^svc_refresh_(\d+)_0_/.exec(refresh_token) ?? []
    const guesses = [
      'nonsense',
      refresh_token.slice(0, -1),
      refresh_token.replace('_0_', '_1_'),
      refresh_token.replace(`_${grant}_`, `_${Number(grant) + 1}_`),
      program.tokens.access_token,
    ]

    for (const guess of guesses)
      expect([guess, (await program.refresh(guess)).body['error']]).toEqual([guess, 'invalid_grant'])
    const form = { grant_type: 'refresh_token', refresh_token, client_id: other }
    expect((await postForm(`${svc.url}/oauth/token`, form)).body['error']).toBe('invalid_grant')
    expect((await program.refresh()).status).toBe(200)
  })

  test('works after a backup was restored from before the last one', async () => {
    const { program } = await startPersonWithProgram(svc, 'emil')
    const [before] = await svc.rows<{ grant: object; token: object; id: number }>(
      `select to_jsonb(g) as grant, to_jsonb(t) as token, g.id from oauth_grants g join access_tokens t on t.id = g.token_id
        order by g.id desc limit 1`,
    )
    const first = await program.refresh()
    const second = await program.refresh(String(first.body['refresh_token']))
    await svc.rows(
      `update oauth_grants g set generation = r.generation, rotated_at = r.rotated_at
         from jsonb_populate_record(null::oauth_grants, $1) r where g.id = r.id`,
      [JSON.stringify(before?.grant)],
    )

    const after = await program.refresh(String(second.body['refresh_token']))

    expect(after.status).toBe(200)
    expect(await tryToken(svc, String(after.body['access_token']))).toBe(200)
  })

  test('ends with the lifetime of the grant', async () => {
    const { browser, program } = await startPersonWithProgram(svc, 'fay')
    advanceClock(91 * 86_400_000)

    const { status, body } = await program.refresh()

    vi.useRealTimers()
    expect([status, body['error']]).toEqual([400, 'invalid_grant'])
    expect((await callFromPage(browser, 'oauth.grants')).data).toHaveLength(1)
  })
})

describe('the tokens of a program', () => {
  test('are good at the address for which they were asked, and nowhere else', async () => {
    const { browser } = await signIn(svc, 'gus')
    const signInFor = async (resource: string | undefined) =>
      (await signInProgram(svc, browser, { parameters: { scope: 'mcp ai', resource } })).tokens.access_token
    const [whole, gateway, library] = await Promise.all(
      [svc.url, `${svc.url}/mcp`, `${svc.url}/mcp/library`].map(signInFor),
    )
    const statuses = (token = '') =>
      Promise.all(['/v1/models', '/api/user', '/trpc/users.me', '/mcpx'].map((path) => tryToken(svc, token, path)))

    expect((await statuses(whole)).slice(0, 1)).toEqual([200])
    expect((await statuses(gateway)).slice(0, 3)).toEqual([401, 401, 401])
    expect((await statuses(library)).slice(0, 3)).toEqual([401, 401, 401])
  })

  test('may do only what the person allowed', async () => {
    const { browser } = await signIn(svc, 'hans')
    await svc.host.admin.setRole({ user: { username: 'hans' }, role: 'admin' })
    await browser.login('hans')
    const { tokens } = await signInProgram(svc, browser, { parameters: { scope: 'mcp' } })

    expect(await tryToken(svc, tokens.access_token, '/v1/models')).toBe(403)
    expect(await tryToken(svc, tokens.access_token, '/trpc/settings.list')).toBe(403)
    expect(await tryToken(svc, tokens.access_token, '/trpc/oauth.grants')).toBe(403)
    expect((await callFromPage(browser, 'tokens.list')).data).toMatchObject([{ name: 'test' }])
  })

  test('are revoked by their own client alone', async () => {
    const { program } = await startPersonWithProgram(svc, 'ines')
    const { access_token: token } = program.tokens
    const revoke = (client_id: string, text = token) => postForm(`${svc.url}/oauth/revoke`, { client_id, token: text })

    expect((await revoke(await registerProgram(svc))).status).toBe(200)
    expect((await revoke(program.clientId, 'nonsense')).status).toBe(200)
    expect(await tryToken(svc, token)).toBe(200)
    expect((await revoke('made-up')).status).toBe(401)
    expect((await revoke(program.clientId)).status).toBe(200)
    expect(await tryToken(svc, token)).toBe(401)
  })
})

describe('the access of programs', () => {
  test('is listed and ended by its person alone', async () => {
    const { browser, program } = await startPersonWithProgram(svc, 'jan')
    const { browser: other } = await signIn(svc, 'karl')
    const { data } = await callFromPage(browser, 'oauth.grants')
    const [grant] = data as { id: number }[]

    expect(data).toEqual([
      {
        id: expect.any(Number),
        tokenId: expect.any(Number),
        name: 'Test program',
        host: null,
        kind: 'dynamic',
        abilities: ['mcp', 'ai'],
        resources: [],
        servers: null,
        device: 'node',
        createdAt: expect.any(String),
        lastUsedAt: null,
        endsAt: expect.any(String),
        replayedAt: null,
      },
    ])
    expect((await callFromPage(other, 'oauth.grants')).data).toEqual([])
    expect((await callFromPage(other, 'oauth.endGrant', { id: grant?.id })).problem).toBe('not_found')
    expect((await callFromPage(browser, 'oauth.endGrant', { id: grant?.id })).status).toBe(200)
    expect(await tryToken(svc, program.tokens.access_token)).toBe(401)
    expect((await program.refresh()).body['error']).toBe('invalid_grant')
    expect((await callFromPage(browser, 'oauth.grants')).data).toEqual([])
  })

  test.each([
    ['a changed password', ({ browser }: Owner) => callFromPage(browser, 'password.change', NEW_PASSWORD)],
    [
      'a password that is set',
      ({ id }: Owner) => svc.host.password.set({ user: { id }, password: 'quite another one' }),
    ],
    ['signing out everywhere', ({ browser }: Owner) => callFromPage(browser, 'sessions.logoutEverywhere', {})],
  ] as const)('ends with %s, for nobody else', async (_, act) => {
    const owner = await startPersonWithProgram(svc, newName())
    const { program: others } = await startPersonWithProgram(svc, newName())
    const { form } = await requestCode(svc, owner.browser)

    await act(owner)

    expect(await tryToken(svc, owner.program.tokens.access_token)).toBe(401)
    expect((await owner.program.refresh()).body['error']).toBe('invalid_grant')
    expect((await postForm(`${svc.url}/oauth/token`, form)).body['error'], 'an open code').toBe('invalid_grant')
    expect(await tryToken(svc, others.tokens.access_token)).toBe(200)
    expect((await others.refresh()).status).toBe(200)
  })

  test('ends for all when an administrator blocks the program', async () => {
    const { browser: root } = await signIn(svc, 'root')
    await svc.host.admin.setRole({ user: { username: 'root' }, role: 'admin' })
    await root.login('root')
    const clientId = await registerProgram(svc, undefined, 'Blocked one')
    const { browser, program } = await startPersonWithProgram(svc, 'lea', { clientId })
    const listed = await callFromPage(root, 'oauth.clients', { search: 'blocked' })
    const { clients, total } = listed.data as { clients: { id: number; people: number }[]; total: number }
    expect([total, clients]).toMatchObject([1, [{ name: 'Blocked one', kind: 'dynamic', people: 1, blocked: false }]])
    expect((await callFromPage(root, 'oauth.grantsOf', { user: { username: 'lea' } })).data).toHaveLength(1)

    expect((await callFromPage(root, 'oauth.block', { id: clients[0]?.id, blocked: true })).status).toBe(200)

    expect(await tryToken(svc, program.tokens.access_token)).toBe(401)
    expect((await program.refresh()).status).toBe(401)
    await expect(signInProgram(svc, browser, { clientId })).rejects.toThrow('authorization_invalid')
    await callFromPage(root, 'oauth.block', { id: clients[0]?.id, blocked: false })
    expect(await tryToken(svc, program.tokens.access_token)).toBe(200)
  })

  test('is ended by an administrator, for one person and program', async () => {
    const { browser: root } = await signIn(svc, 'admin')
    await svc.host.admin.setRole({ user: { username: 'admin' }, role: 'admin' })
    await root.login('admin')
    const owner = await startPersonWithProgram(svc, newName())
    const second = await signInProgram(svc, owner.browser)
    const other = await startPersonWithProgram(svc, newName())
    const listed = await callFromPage(root, 'oauth.grantsOf', { user: { id: owner.id } })
    const [{ id }] = listed.data as [{ id: number }]
    const end = (browser: TestBrowser, of: { id: number }) =>
      callFromPage(browser, 'oauth.endGrantFor', { user: { id: of.id }, id })

    expect((await end(other.browser, owner)).status).toBe(403)
    expect((await end(root, other)).problem).toBe('not_found')
    expect((await end(root, owner)).status).toBe(200)

    const programs = [owner.program, second, other.program].map(({ tokens }) => tryToken(svc, tokens.access_token))
    expect(await Promise.all(programs)).toEqual([401, 200, 200])
    expect((await owner.program.refresh()).body['error']).toBe('invalid_grant')
    const entries = `select subject, change like '%Test program%' as "namesProgram" from audit_entries
                      where act = 'oauth.endGrantFor' and outcome = 'ok' order by seq desc limit 1`
    expect(await svc.rows(entries)).toEqual([{ subject: `user:${owner.id}`, namesProgram: true }])
  })

  test('beyond the limit ends the one that was not used for longest', async () => {
    await using few = await startOAuth({ OAUTH_GRANTS_PER_PERSON: '2', OAUTH_ABILITIES: 'ai' })
    const { browser, program: first } = await startPersonWithProgram(few, 'ada')
    const second = await signInProgram(few, browser)
    await few.rows(`update access_tokens set last_used_at = now() where id in (select min(token_id) from oauth_grants)`)
    const third = await signInProgram(few, browser)

    const tokens = [first, second, third].map(({ tokens }) => tryToken(few, tokens.access_token))
    expect(await Promise.all(tokens)).toEqual([200, 401, 200])
  })

  test('leaves nothing behind when its person is removed, or when it has ended', async () => {
    await using own = await startOAuth()
    const { id } = await startPersonWithProgram(own, 'ada')
    const { program } = await startPersonWithProgram(own, 'bob')
    await own.host.admin.removeUser({ user: { id } })
    await own.rows(`update oauth_grants set ends_at = now() - interval '1 second'`)
    await own.rows(`update oauth_codes set expires_at = now() - interval '2 days'`)
    await own.rows(`update oauth_clients set updated_at = now() - interval '2 hours'`)

    const deleted = await own.host.oauth.deleteExpired()

    expect(deleted).toEqual({ codes: 1, grants: 1, clients: 2 })
    expect((await program.refresh()).body['error']).toBe('invalid_grant')
    const left = `select (select count(*) from oauth_clients) + (select count(*) from oauth_grants)
                       + (select count(*) from access_tokens where holder = 'program') as n`
    expect(await own.rows(left)).toEqual([{ n: '0' }])
  })
})
