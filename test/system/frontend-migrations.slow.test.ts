import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { putAccount, resolveAccountsPath } from '../../server/login/accounts.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { buildFirstKeys, openBrowser, PASSWORD, signIn, type TestBrowser } from '../kit/browser.ts'
import { cloneDatabase } from '../kit/database.ts'
import { sendFirstKeys } from '../kit/identity/first-keys.ts'

const name = '2026_11_20_120000_after_passkey_upgrade_labels'
const exampleWith = (blob: string) =>
  `export const migration = { userdata: ({ username }) => (username === 'ada' ? { blob: '${blob}' } : undefined) }\n`
const base = '/api/svc/v1/migrations'

async function folderWith(files: Record<string, string>) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-migrations-'))
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text)
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}

const pending = async (browser: TestBrowser) => (await browser.send('GET', base)).body['data']
const counted = async (browser: TestBrowser) => {
  const { body } = await browser.send('GET', '/api/svc/v1/connections/svc')
  return (body as { data: { attributes: { migrationsToApply: number } } }).data.attributes.migrationsToApply
}

/** Starts a service that gets a migration after Ada and Bob have registered. */
async function withMigration(migration = name, blob = 'CANARY-BLOB') {
  const database = await cloneDatabase()
  const { folder, ...files } = await folderWith({ [`${migration}.js`]: exampleWith(blob) })
  const settings = { DATABASE_URL: database.url, APP_KEY: 'a key of this test, with enough of different characters' }
  {
    await using earlier = await startApp(settings)
    await earlier.user({ username: 'ada' })
    await earlier.user({ username: 'bob' })
  }
  const svc = await startApp({ ...settings, FRONTEND_MIGRATIONS: folder })
  const dispose = async () => {
    await svc[Symbol.asyncDispose]()
    await files[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  }
  return { svc, [Symbol.asyncDispose]: dispose }
}

async function browserOf(svc: TestApp, username: string) {
  await putAccount(
    resolveAccountsPath(svc.env),
    { username, email: `${username}@example.org`, name: username },
    PASSWORD,
  )
  const browser = openBrowser(svc.url)
  expect((await browser.login(username)).status).toBe(200)
  return browser
}

test('a migration is pending for earlier users, with the data that each needs', async () => {
  await using world = await withMigration()
  const { svc } = world
  const [ada, bob] = [await browserOf(svc, 'ada'), await browserOf(svc, 'bob')]
  const { browser: newcomer } = await signIn(svc, 'cleo')

  expect(await pending(ada)).toMatchObject([
    { type: 'migrations', id: name, attributes: { data: { blob: 'CANARY-BLOB' } } },
  ])
  expect(await pending(bob)).toMatchObject([{ id: name, attributes: { data: null } }])
  expect(await pending(newcomer)).toEqual([])
  expect(await Promise.all([ada, bob, newcomer].map(counted))).toEqual([1, 1, 0])
  expect((await ada.send('GET', `${base}/${name}`)).status).toBe(200)
  expect((await newcomer.send('GET', `${base}/${name}`)).status).toBe(404)
  expect((await openBrowser(svc.url).send('GET', base)).status).toBe(401)
})

test('what a migration knows of people is sealed at rest', async () => {
  await using world = await withMigration()

  const rows = await world.svc.rows<{ data: string }>('select data from frontend_migration_userdata')

  expect(rows).toHaveLength(1)
  expect(JSON.stringify(rows)).not.toContain('CANARY')
})

test('applying a migration removes it for that person alone, and may be repeated', async () => {
  await using world = await withMigration()
  const { svc } = world
  const [ada, bob] = [await browserOf(svc, 'ada'), await browserOf(svc, 'bob')]
  const apply = (body: unknown) => ada.send('POST', `${base}/actions/apply`, { body })

  const first = await apply({ migration_name: name })
  const again = await apply({ migrationName: name })

  expect(first.body).toMatchObject({
    data: [{ type: 'migrations', id: name, attributes: { data: { blob: 'CANARY-BLOB' } } }],
    meta: { _svc_sync_log: [] },
  })
  expect(again.body).toMatchObject({ data: [{ id: name, attributes: { data: null } }] })
  expect([await pending(ada), await counted(ada), await counted(bob)]).toEqual([[], 0, 1])
  expect(await svc.rows('select count(*)::int as left from frontend_migration_userdata')).toEqual([{ left: 0 }])
  expect((await apply({ migrationName: '2026_01_01_000000_after_login_unknown' })).status).toBe(404)
  expect((await apply({})).status).toBe(422)
})

test('an applied migration is readable at its link by its people alone', async () => {
  await using world = await withMigration()
  const { svc } = world
  const [ada, bob] = [await browserOf(svc, 'ada'), await browserOf(svc, 'bob')]
  const { browser: newcomer } = await signIn(svc, 'cleo')
  const selfFor = async (browser: TestBrowser) => {
    const { body } = await browser.send('POST', `${base}/actions/apply`, { body: { migrationName: name } })
    const [migration] = (body as { data: { links: { self: string } }[] }).data
    return migration?.links.self ?? ''
  }

  const self = await selfFor(ada)

  expect(self).toBe(`${base}/${name}`)
  expect(await ada.send('GET', self)).toMatchObject({ status: 200, body: { data: { id: name } } })
  expect([await pending(ada), await counted(ada)]).toEqual([[], 0])
  expect((await bob.send('GET', self)).body).toMatchObject({ data: { attributes: { data: null } } })
  expect((await newcomer.send('GET', self)).status).toBe(404)
  expect((await openBrowser(svc.url).send('GET', self)).status).toBe(401)
  expect(await newcomer.send('GET', await selfFor(newcomer))).toMatchObject({ status: 200 })
})

test('a file that is no migration stops the start, by name', async () => {
  await using files = await folderWith({ 'upgrade.js': exampleWith('') })

  await expect(startApp({ FRONTEND_MIGRATIONS: files.folder })).rejects.toThrow(/upgrade\.js is no frontend migration/)
})

const keychainMigration = '2026_06_07_215609_after_passkey_upgrade_to_user_keychain_values'
const blob = ['iv', 'tag', 'old keychain'].map((part) => Buffer.from(part).toString('base64')).join('|')
const validator = '/api/svc/v1/user-keychain-values/actions/validator'
const withOldKeychains = async () => {
  const world = await withMigration(keychainMigration, blob)
  for (const name of ['ada', 'bob'])
    await world.svc.rows('update users set public_key = $2 where username = $1', [name, `key of ${name}`])
  return world
}

test('the validator of an undivided keychain is its blob, for its person alone', async () => {
  await using world = await withOldKeychains()
  const [ada, bob] = [await browserOf(world.svc, 'ada'), await browserOf(world.svc, 'bob')]

  const answer = await ada.send('GET', validator)

  expect(answer.status).toBe(200)
  expect(answer.body).toMatchObject({ data: null, meta: { publicKey: 'key of ada', validator: blob } })
  expect((await bob.send('GET', validator)).status).toBe(404)
})

test('the validator becomes the entry of the public key once there is one', async () => {
  await using world = await withOldKeychains()
  const ada = await browserOf(world.svc, 'ada')
  const update = (body: object) => ada.send('POST', '/api/svc/v1/user-keychain-values/actions/batch-update', { body })
  const [, publicKey] = buildFirstKeys('ada').keychain

  await update({ set: [publicKey] })
  const split = await ada.send('GET', validator)
  await update({ clean: true })
  const back = await ada.send('GET', validator)
  await ada.send('POST', `${base}/actions/apply`, { body: { migrationName: keychainMigration } })
  const applied = await ada.send('GET', validator)

  expect(split.body).toMatchObject({
    data: { attributes: { keyType: 'public_key' } },
    meta: { validator: publicKey?.value },
  })
  expect(back.body).toMatchObject({ data: null, meta: { validator: blob } })
  expect(applied.status).toBe(404)
})

test('a reset of all keys deletes the old keychain of that person alone', async () => {
  await using world = await withOldKeychains()
  const { svc } = world
  const [ada, bob] = [await browserOf(svc, 'ada'), await browserOf(svc, 'bob')]

  expect((await ada.send('POST', '/req/profile/reset')).status).toBe(200)
  const left = await svc.rows('select from frontend_migration_userdata')
  expect((await sendFirstKeys(ada, buildFirstKeys('new'))).status).toBe(200)

  expect(left).toEqual([])
  expect([await pending(ada), await counted(ada)]).toEqual([[], 0])
  expect((await ada.send('GET', validator)).body).toMatchObject({
    data: { attributes: { keyType: 'public_key' } },
  })
  expect([await pending(bob), await counted(bob)]).toMatchObject([[{ id: keychainMigration }], 1])
})
