import { afterEach, expect, test } from 'vitest'
import { readAccounts, resolveAccountsPath } from '../../server/login/accounts.ts'
import { startApp } from '../kit/app.ts'
import { openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { removeEverybody } from '../kit/identity/first-keys.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startApp({ ALLOW_ACCOUNT_REMOVAL: 'true' }))
afterEach(() => removeEverybody(svc))

async function remove(browser: TestBrowser, username = 'ada') {
  const { status, body } = await browser.send('POST', '/trpc/ownAccount.remove', { body: { username } })
  const { error, result } = body as { error?: { data: { problem: string } }; result?: { data: object } }
  return { status, problem: error?.data.problem, data: result?.data }
}

const listPeople = async (app = svc) =>
  (await app.rows<{ username: string }>('select username from users where id > 1 order by 1')).map(
    (row) => row.username,
  )

test('people remove their own account with all it owns and all its sessions', async () => {
  const { browser, id, token } = await signIn(svc, 'ada')
  const { browser: bob } = await signIn(svc, 'bob')
  const other = openBrowser(svc.url)
  await other.login('ada')
  await browser.send('POST', '/trpc/conversations.create', { body: { name: 'Plan' } })
  await bob.send('POST', '/trpc/conversations.create', { body: { name: 'Plan of Bob' } })

  const { status, data } = await remove(browser)

  expect([status, data]).toEqual([200, { redirectUri: '/login' }])
  for (const each of [browser, other]) expect(await each.standing()).toBe('internal')
  expect((await svc.send('GET', '/api/user', { token })).status).toBe(401)
  expect((await openBrowser(svc.url).login('ada')).status).toBe(401)
  expect((await readAccounts(resolveAccountsPath(svc.env))).map(({ username }) => username)).toEqual(['bob'])
  expect(await listPeople()).toEqual(['bob'])
  expect(await svc.rows('select name from conversations')).toEqual([{ name: 'Plan of Bob' }])
  expect(await bob.standing()).not.toBe('internal')
  const [entry] = await svc.rows(
    "select actor, subject, outcome, origin, change from audit_entries where act = 'ownAccount.remove'",
  )
  expect(entry).toMatchObject({ actor: `user:${id}`, subject: `user:${id}`, outcome: 'ok', origin: null })
  expect(JSON.stringify(entry)).toContain('conversations')
})

test('an account stays if the session is old or the username is wrong', async () => {
  const { browser } = await signIn(svc, 'ada')
  await signIn(svc, 'bob')

  expect(await remove(browser, 'bob')).toMatchObject({ status: 422, problem: 'invalid' })
  await svc.rows("update sessions set signed_in_at = now() - interval '1 hour'")
  expect(await remove(browser)).toMatchObject({ status: 403, problem: 'fresh_login_needed' })

  expect(await listPeople()).toEqual(['ada', 'bob'])
})

test('guests, tokens and the last administrator remove no account', async () => {
  const { browser, token } = await signIn(svc, 'ada')
  await svc.host.admin.setRole({ user: { username: 'ada' }, role: 'admin' })
  await browser.login('ada')
  const byToken = await svc.send('POST', '/trpc/ownAccount.remove', { token, body: { username: 'ada' } })

  expect(await byToken.json()).toMatchObject({ error: { data: { problem: 'session_only' } } })
  expect(await remove(openBrowser(svc.url))).toMatchObject({ status: 401, problem: 'signed_out' })
  expect(await remove(browser)).toMatchObject({ status: 409, problem: 'conflict' })
  expect(await listPeople()).toEqual(['ada'])
  await signIn(svc, 'bob')
  await svc.host.admin.setRole({ user: { username: 'bob' }, role: 'admin' })

  expect(await remove(browser)).toMatchObject({ status: 200 })

  expect(await listPeople()).toEqual(['bob'])
})

test('nobody removes their own account where the setting does not allow it', async () => {
  await using closed = await startApp()
  const { browser } = await signIn(closed, 'ada')

  expect((await browser.send('GET', '/trpc/ownAccount.removal')).body).toEqual({
    result: { data: { isAllowed: false } },
  })
  expect(await remove(browser)).toMatchObject({ status: 403, problem: 'not_permitted' })

  expect(await listPeople(closed)).toEqual(['ada'])
})
