import { expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { runCommand } from '../kit/command-line.ts'
import { RawSubscription } from '../kit/rooms/raw-subscription.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startApp)

async function signInAdministrator(username: string) {
  const person = await signIn(svc, username)
  await svc.rows("update users set role = 'admin' where id = $1", [person.id])
  return person
}

const follow = ({ cookies }: TestBrowser, path = 'overview.changes') =>
  RawSubscription.open({
    url: svc.url,
    path,
    headers: {
      cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      'sec-fetch-site': 'same-origin',
    },
  })

const command = (...argv: string[]) =>
  runCommand(argv, { env: { DATABASE_URL: String(svc.env.DATABASE_URL), DATA_DIR: svc.folder, DATABASE_POOL: '2' } })

const kindsOf = ({ messages: told }: RawSubscription) =>
  told.flatMap(({ type, kind, subject }) =>
    type === 'change' && !String(kind).startsWith('sessions.') ? [`${kind} ${subject}`] : [],
  )

interface ChangesAnswer {
  result: { data: { meta: { position: string; changes: object[] } } }
}

const changesSince = async (browser: TestBrowser, page = {}) => {
  const { body } = await browser.send(
    'GET',
    `/trpc/overview.changesSince?input=${encodeURIComponent(JSON.stringify({ page }))}`,
  )
  return (body as unknown as ChangesAnswer).result.data.meta
}

test('administrators are told what a command did to whom, and nothing of its content', async () => {
  const { browser } = await signInAdministrator('anna')
  const { id } = await svc.user({ username: 'linus' })
  const following = await follow(browser)
  await following.waitForPosition()

  expect((await command('set-groups', '--username', 'linus', '--groups', 'library')).exitCode).toBe(0)

  await expect.poll(() => kindsOf(following)).toEqual([`admin.setGroups user:${id}`])
  expect(Object.keys(following.messages.at(-1) ?? {}).sort()).toEqual(['at', 'kind', 'seq', 'subject', 'type'])
  following.close()
})

test('administrators are told of models that the service itself changes', async () => {
  const { browser } = await signInAdministrator('berta')
  const following = await follow(browser)
  await following.waitForPosition()

  const [{ id } = { id: 0 }] = await svc.rows<{ id: number }>("select id from ai_models where model_id = 'demo'")
  await svc.host.aiModels.update({ id: String(id), label: 'Another' })

  await expect.poll(() => kindsOf(following)).toEqual([`ai-models.updated ${id}`])
  following.close()
})

test('whoever is no administrator is told nothing of what administrators see', async () => {
  const { browser } = await signIn(svc, 'paul')
  const own = await follow(browser, 'users.changes')
  await own.waitForPosition()

  expect((await follow(browser)).status).toBe(403)
  expect((await follow(openBrowser(svc.url))).status).toBe(401)
  expect((await browser.send('GET', '/trpc/overview.changesSince')).status).toBe(403)

  await svc.user({ username: 'walter' })
  await command('set-groups', '--username', 'walter', '--groups', 'secret')
  const [{ seq } = { seq: 0 }] = await svc.rows<{ seq: number }>(
    "select seq::int from change_streams where stream = 'admins'",
  )
  expect(seq).toBeGreaterThan(0)
  expect(kindsOf(own)).toEqual([])
  own.close()
})

test('who is no administrator any more is told nothing more', async () => {
  const { browser } = await signInAdministrator('clara')
  const following = await follow(browser)
  await following.waitForPosition()

  await command('set-role', '--username', 'clara', '--role', 'user')
  await following.ended
  await svc.user({ username: 'wilma' })
  await command('set-groups', '--username', 'wilma', '--groups', 'secret')

  expect(kindsOf(following).filter((told) => told.startsWith('admin.setGroups'))).toEqual([])
  expect((await follow(browser)).status).toBe(401)
})

test('a position leads on to what was missed meanwhile', async () => {
  const { browser } = await signInAdministrator('dora')
  const { position } = await changesSince(browser)
  const { id } = await svc.user({ username: 'wanda' })
  await command('set-groups', '--username', 'wanda', '--groups', 'library')

  const { changes } = await changesSince(browser, { after: position })

  expect(changes).toContainEqual(expect.objectContaining({ kind: 'admin.setGroups', subject: `user:${id}` }))
})

test('reading the audit log tells nobody to read it again', async () => {
  const { browser } = await signInAdministrator('edda')
  await expect
    .poll(() =>
      svc.rows(
        `select act from audit_entries where act = 'sessions.login' and actor like 'user:%' order by seq desc limit 1`,
      ),
    )
    .toHaveLength(1)
  const { position } = await changesSince(browser)
  expect((await browser.send('GET', '/trpc/audit.list?input=%7B%7D')).status).toBe(200)
  await expect
    .poll(() => svc.rows("select act from audit_entries where act = 'audit.list'"))
    .toEqual([{ act: 'audit.list' }])

  const { changes } = await changesSince(browser, { after: position })
  expect(changes.filter((change) => !('kind' in change && change.kind === 'sessions.login'))).toEqual([])
})
