import { beforeAll, beforeEach, expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { shareResource } from '../kit/share-resource.ts'

let root: TestBrowser
let rootId: number

const svc = shareResource(startApp)
beforeAll(async () => {
  const { id } = await signIn(svc, 'root')
  await svc.host.admin.setRole({ user: { id }, role: 'admin' })
  rootId = id
})
beforeEach(async () => {
  root = await freshBrowser('root')
})

async function freshBrowser(username: string): Promise<TestBrowser> {
  const browser = openBrowser(svc.url)
  await browser.login(username)
  return browser
}

interface Answer {
  result?: { data: unknown }
  error?: { message: string; data: { problem?: string; httpStatus: number } }
}

async function call<Data = Record<string, unknown>>(
  browser: TestBrowser,
  name: string,
  input?: unknown,
): Promise<Data> {
  const { body } = await browser.send('POST', `/trpc/${name}`, { body: input ?? {} })
  const { result, error } = body as Answer
  if (error) throw Object.assign(new Error(error.message), error.data)
  return result?.data as Data
}

async function read<Data = Record<string, unknown>>(
  browser: TestBrowser,
  name: string,
  input?: unknown,
): Promise<Data> {
  const query = input === undefined ? '' : `?input=${encodeURIComponent(JSON.stringify(input))}`
  const { body } = await browser.send('GET', `/trpc/${name}${query}`)
  const { result, error } = body as Answer
  if (error) throw Object.assign(new Error(error.message), error.data)
  return result?.data as Data
}

test('the last administrator cannot demote, disable or remove themselves in any way', async () => {
  const user = { id: rootId }
  const refused = { problem: 'conflict', message: expect.stringContaining('Nobody would administer') }

  await expect(call(root, 'admin.setRole', { user, role: 'user' })).rejects.toMatchObject(refused)
  await expect(call(root, 'admin.setDisabled', { user, disabled: true })).rejects.toMatchObject(refused)
  await expect(call(root, 'admin.removeUser', { user })).rejects.toMatchObject(refused)
  await expect(call(root, 'users.delete', { id: `${rootId}` })).rejects.toMatchObject(refused)
  await expect(call(root, 'users.update', { id: `${rootId}`, role: 'user' })).rejects.toMatchObject(refused)
  await expect(call(root, 'users.update', { id: `${rootId}`, disabled: true })).rejects.toMatchObject(refused)

  expect(await svc.rows('select role, disabled from users where id = $1', [rootId])).toEqual([
    { role: 'admin', disabled: false },
  ])
})

test('of two administrators who demote each other at once, one remains', async () => {
  const { id, browser: other } = await signIn(svc, 'twin')
  await svc.host.admin.setRole({ user: { id }, role: 'admin' })
  await other.login('twin')

  const outcomes = await Promise.allSettled([
    call(root, 'admin.setRole', { user: { id }, role: 'user' }),
    call(other, 'admin.setRole', { user: { id: rootId }, role: 'user' }),
  ])

  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await svc.rows(`select from users where role = 'admin'`)).toHaveLength(1)
  await svc.host.admin.setRole({ user: { id: rootId }, role: 'admin' })
  await svc.host.admin.removeUser({ user: { id } })
})

test('changes of an administrator are in the audit log with them as the actor', async () => {
  const { id } = await svc.user({ username: 'carla' })
  const user = { id }

  await call(root, 'admin.setGroups', { user, groups: ['staff'] })
  const change = (await svc.host.audit.list({ subject: `user:${id}`, act: 'admin.setGroups' })).entries[0]?.change
  await call(root, 'password.set', { user, password: 'a long new password' })
  await call(root, 'limits.set', { name: 'audited', for: 'installation', cap: 5, unit: 'requests', per: 'day' })
  await call(root, 'admin.removeUser', { user })

  const { entries } = await svc.host.audit.list({ actor: `user:${rootId}`, limit: 20 })
  const changes = entries.filter(({ act }) => !act.startsWith('sessions.'))
  expect(changes.slice(0, 4).map(({ act, outcome }) => [act, outcome])).toEqual([
    ['admin.removeUser', 'ok'],
    ['limits.set', 'ok'],
    ['password.set', 'ok'],
    ['admin.setGroups', 'ok'],
  ])
  expect(change).toMatchObject({ before: { groups: [] }, after: { groups: ['staff'] } })
  expect(JSON.stringify(entries)).not.toContain('a long new password')
})

test('an administrator signs somebody out everywhere and revokes their token', async () => {
  const { id, browser, token } = await signIn(svc, 'dora')
  expect(await read(root, 'users.show', { user: { id } })).toMatchObject({ sessions: 1, tokens: 1 })
  const [listed] = await read<{ id: number }[]>(root, 'tokens.listFor', { user: { id } })

  expect(await call(root, 'admin.endSessions', { user: { id } })).toMatchObject({ ended: 1 })
  await call(root, 'tokens.revokeFor', { user: { id }, tokenId: listed?.id })

  expect(await browser.standing()).toBe('internal')
  expect((await svc.send('GET', '/api/user', { token })).status).toBe(401)
})

test('people are found by group and state, in the order that was asked for', async () => {
  for (const name of ['zoe', 'yan', 'xia']) {
    const { id } = await svc.user({ username: name })
    await call(root, 'admin.setGroups', { user: { id }, groups: ['letters'] })
  }
  await call(root, 'admin.setDisabled', { user: { username: 'yan' }, disabled: true })
  const names = async (filters: object) => {
    const { users } = await read<{ users: { username: string }[] }>(root, 'users.search', filters)
    return users.map(({ username }) => username)
  }

  expect(await names({ group: 'letters' })).toEqual(['xia', 'yan', 'zoe'])
  expect(await names({ group: 'letters', state: 'disabled' })).toEqual(['yan'])
  expect(await read(root, 'users.search', { group: 'letters', size: 2 })).toMatchObject({ hasMore: true })
  await svc.rows(`update users set signed_in_at = now() where username = 'zoe'`)
  expect(await names({ group: 'letters', order: '-signedInAt' })).toEqual(['zoe', 'xia', 'yan'])
})

test('an administrator reads the settings without their secrets', async () => {
  const settings = await read<{ name: string; value: string; isSet: boolean }[]>(root, 'settings.list')

  const row = (name: string) => settings.find((setting) => setting.name === name)
  expect(row('DATABASE_URL')).toMatchObject({ value: '********', isSet: true })
  expect(row('FRESH_SESSION_TIME')).toMatchObject({ value: '10m', isSet: false })
})

test('a preview reports how many calls of how many people each limit would refuse', async () => {
  const { id } = await svc.user()
  await svc.rows(
    `insert into usage_records (request_id, user_id, provider, model, context, outcome, duration_ms, created_at)
     select 'r', $1, 'p', 'm', 'api', 'completed', 1, now() from generate_series(1, 5)`,
    [id],
  )
  const limits = [{ name: 'small', for: 'user', cap: 2, unit: 'requests', per: 'month' }]

  const preview = await read(root, 'limits.preview', { config: { limits } })

  expect(preview).toMatchObject({
    limits: [{ limit: 'small', mode: 'enforce', subject: 'user', refused: 3, subjects: 1 }],
    totals: { calls: 5, refused: 3 },
  })
  const { rows } = await read<{ rows: unknown[] }>(root, 'usage.list', { by: 'model' })
  expect(rows).toMatchObject([{ model: 'm', requests: 5 }])
})
