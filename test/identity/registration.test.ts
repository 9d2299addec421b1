import { afterEach, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount, buildFirstKeys, openBrowser, signIn } from '../kit/browser.ts'
import {
  expectNoKeys,
  readKeychains,
  readPasskeyBackups,
  readPeople,
  removeEverybody,
  sendFirstKeys,
} from '../kit/identity/first-keys.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(() => startApp({ LOG_LEVEL: 'trace' }))
afterEach(() => removeEverybody(svc))

test('the first keys create the person, their keychain and backup, and let them in', async () => {
  const { browser } = await signIn(svc, 'ada', { known: false })
  const events: unknown[] = []
  svc.services.process.hooks.on('user-type-changed', ({ cause, from, to }) => void events.push([cause, from, to]))
  const keys = buildFirstKeys()

  const { status, body, headers } = await sendFirstKeys(browser)

  expect([status, body]).toEqual([200, { success: true, redirectUri: '/chat' }])
  expect(headers.get('cache-control')).toBe('no-store')
  expect(events).toEqual([['registration', 'registering', 'user']])
  const [ada] = await readPeople(svc)
  const id = (ada as { id: number }).id
  expect(ada).toMatchObject({ username: 'ada', email: 'ada@example.org', role: 'user', public_key: keys.publicKey })
  expect(await readKeychains(svc)).toEqual(
    keys.keychain.map(({ key, keyType, value }) => ({ user_id: id, key, key_type: keyType, value })),
  )
  expect(await readPasskeyBackups(svc)).toEqual([{ user_id: id, ...keys.passkeyBackup }])
  expect(await browser.standing()).toBe('internal_authenticated')
  expect((await browser.login('ada')).body['redirectUri']).toBe('/handshake')
})

test('the first keys register a person whom the host added, under the same id', async () => {
  await addAccount(svc, 'ada', { known: false })
  const { id, token } = await svc.user({ username: 'ada', role: 'admin', keys: false })
  const browser = openBrowser(svc.url)
  expect((await browser.login('ada')).body['redirectUri']).toBe('/register')
  expect(await browser.standing()).toBe('internal_registering_user')
  expect((await browser.send('GET', '/settings')).headers.get('location')).toMatch(/^\/register\?/)
  expect((await browser.send('GET', '/trpc/sessions.list')).status).toBe(403)
  expect((await svc.send('GET', '/api/user', { token })).status).toBe(200)
  const other = openBrowser(svc.url)
  await other.login('ada')

  expect((await sendFirstKeys(browser)).status).toBe(200)

  expect(await readPeople(svc)).toEqual([
    expect.objectContaining({ id, role: 'admin', public_key: buildFirstKeys().publicKey }),
  ])
  expect([await browser.standing(), await other.standing()]).toEqual([
    'internal_authenticated',
    'internal_authenticated',
  ])
})

test.for([
  ['was removed', (svc: TestApp, id: number) => svc.host.admin.removeUser({ user: { id } })],
  ['got another role', (svc: TestApp, id: number) => svc.host.admin.setRole({ user: { id }, role: 'admin' })],
] as const)('the first keys are refused for a person from the host who %s meanwhile', async ([, change]) => {
  const { browser, id } = await signIn(svc, 'ada', { keys: false })
  await change(svc, id)

  expect((await sendFirstKeys(browser)).status).toBe(401)

  await expectNoKeys(svc)
})

test("the first keys may name an entry's type `type`, as older front ends do", async () => {
  const { browser } = await signIn(svc, 'ada', { known: false })
  const keys = buildFirstKeys()

  const keychain = keys.keychain.map(({ keyType: type, ...entry }) => ({ ...entry, type }))

  expect((await sendFirstKeys(browser, { ...keys, keychain })).status).toBe(200)
})

test('the first keys are made once, and a repeated request changes nothing', async () => {
  const { browser } = await signIn(svc, 'ada', { known: false })
  await sendFirstKeys(browser)
  const before = [await readKeychains(svc), await readPasskeyBackups(svc), await readPeople(svc)]

  const { status, body } = await sendFirstKeys(browser, buildFirstKeys('second'))

  expect([status, body['code']]).toEqual([409, 'registered_already'])
  expect([await readKeychains(svc), await readPasskeyBackups(svc), await readPeople(svc)]).toEqual(before)
  expect(await browser.standing()).toBe('internal_authenticated')
})

test('the first keys of two windows at once are those of one', async () => {
  const { browser } = await signIn(svc, 'ada', { known: false })
  const windows = await Promise.all(
    ['one', 'two', 'three'].map(async (name) => {
      const other = openBrowser(svc.url)
      await other.login('ada')
      return { other, name }
    }),
  )

  const answers = await Promise.all(windows.map(({ other, name }) => sendFirstKeys(other, buildFirstKeys(name))))

  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  const winner = windows[answers.findIndex(({ status }) => status === 200)]!
  expect(await readPeople(svc)).toEqual([
    expect.objectContaining({ public_key: buildFirstKeys(winner.name).publicKey }),
  ])
  expect(await readKeychains(svc)).toHaveLength(3)
  expect(await readPasskeyBackups(svc)).toEqual([expect.objectContaining(buildFirstKeys(winner.name).passkeyBackup)])
  // The request that came late, or got no answer, signs in again and finds the keys.
  expect((await sendFirstKeys(browser, buildFirstKeys('late'))).body['code']).toBe('registered_already')
  expect((await browser.login('ada')).body['redirectUri']).toBe('/handshake')
})

test('the first keys that were saved before an interruption are found at next login', async () => {
  const { browser } = await signIn(svc, 'ada', { known: false })
  await svc.rows(
    `create function refuse() returns trigger language plpgsql as 'begin raise exception ''refused''; end'`,
  )
  await svc.rows('create trigger refuse before update of hash on sessions for each row execute function refuse()')

  expect((await sendFirstKeys(browser)).status).toBe(500)
  await svc.rows('drop trigger refuse on sessions')

  expect((await sendFirstKeys(browser)).body['code']).toBe('registered_already')
  expect((await browser.login('ada')).body).toEqual({ success: true, redirectUri: '/handshake' })
  expect(await browser.standing()).toBe('internal_authenticated')
})

test('the first keys leave nothing when one part cannot be kept', async () => {
  const { browser } = await signIn(svc, 'ada', { known: false })
  await svc.rows('alter table passkey_backups rename to away')

  expect((await sendFirstKeys(browser)).status).toBe(500)

  await svc.rows('alter table away rename to passkey_backups')
  await expectNoKeys(svc)
  expect(await readPeople(svc)).toEqual([])
  expect((await sendFirstKeys(browser)).status).toBe(200)
})

test('the first keys report an e-mail address of somebody else, and whom to ask', async () => {
  const { browser } = await signIn(svc, 'ada', { known: false })
  await svc.host.admin.addUser({ username: 'lovelace', email: 'ada@example.org', name: 'Other' })

  const { status, body } = await sendFirstKeys(browser)

  expect([status, body['code']]).toEqual([409, 'conflict'])
  expect(body['message']).toContain('administrator')
  await expectNoKeys(svc)
  expect(await browser.standing()).toBe('internal_registering_user')
})

test('the first keys are not for guests, tokens, and pages of others', async () => {
  const { token } = await svc.user({ keys: false })
  const { browser } = await signIn(svc, 'ada', { known: false })

  expect((await sendFirstKeys(openBrowser(svc.url))).status).toBe(401)
  expect((await svc.send('POST', '/handshake', { token, body: buildFirstKeys() })).status).toBe(403)
  const foreign = {
    body: buildFirstKeys(),
    headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
  }
  expect((await browser.send('POST', '/handshake', foreign)).body['code']).toBe('csrf')
  await expectNoKeys(svc)
})

test('the first keys of a person who was removed meanwhile are not kept', async () => {
  const { browser, id } = await signIn(svc, 'ada', { keys: false })
  await svc.host.admin.removeUser({ user: { id } })

  expect((await sendFirstKeys(browser)).status).toBe(401)

  await expectNoKeys(svc)
})

test('the first keys go with the person who is removed', async () => {
  const { browser, id } = await signIn(svc, 'ada', { keys: false })
  await sendFirstKeys(browser)

  const { report } = await svc.host.admin.removeUser({ user: { id } })

  expect(report).toMatchObject({ user_keychain_values: { deleted: 3 }, passkey_backups: { deleted: 1 } })
  await expectNoKeys(svc)
})

const keys = buildFirstKeys()
const [privateKey, publicKey, aiConvKey] = keys.keychain
const withEntry = (entry: object) => ({ ...keys, keychain: [privateKey, publicKey, { ...aiConvKey, ...entry }] })
const wrong: [string, unknown][] = [
  ['nothing', ''],
  ['null', 'null'],
  ['a list', []],
  ['no public key', { ...keys, publicKey: undefined }],
  ['an empty public key', { ...keys, publicKey: '' }],
  ['a public key that is not base64', { ...keys, publicKey: '<script>' }],
  ['a public key that is too long', { ...keys, publicKey: 'A'.repeat(5000) }],
  ['no keychain', { ...keys, keychain: undefined }],
  ['an empty keychain', { ...keys, keychain: [] }],
  ['no private key', { ...keys, keychain: [publicKey, aiConvKey] }],
  ['nothing to try a passkey on', { ...keys, keychain: [privateKey, aiConvKey] }],
  ['one entry twice', { ...keys, keychain: [privateKey, publicKey, aiConvKey, aiConvKey] }],
  ['two public keys', withEntry({ keyType: 'public_key' })],
  ['an unknown type', withEntry({ keyType: 'master_key' })],
  ['an empty name', withEntry({ key: '' })],
  ['a long name', withEntry({ key: 'k'.repeat(256) })],
  ['two parts', withEntry({ value: 'aaaa|bbbb' })],
  ['four parts', withEntry({ value: 'aaaa|bbbb|cccc|dddd' })],
  ['an empty part', withEntry({ value: 'aaaa||cccc' })],
  ['a part that is not base64', withEntry({ value: 'aaaa|bbbb|c c' })],
  ['a value that is too long', withEntry({ value: `aaaa|bbbb|${'A'.repeat(20_000)}` })],
  ['a member too many in an entry', withEntry({ userId: 1 })],
  ['no backup', { ...keys, passkeyBackup: undefined }],
  ['a backup without a tag', { ...keys, passkeyBackup: { ...keys.passkeyBackup, tag: undefined } }],
  ['a backup that is too long', { ...keys, passkeyBackup: { ...keys.passkeyBackup, ciphertext: 'A'.repeat(8192) } }],
  ['a passkey in clear', { ...keys, passkey: 'Datakey_123' }],
  ['a role', { ...keys, role: 'admin' }],
  ['a prototype', `{"__proto__":{"role":"admin"},${JSON.stringify(keys).slice(1)}`],
]

test('first keys with missing, wrong or excessive parts are refused and may be retried', async () => {
  const { browser } = await signIn(svc, 'ada', { known: false })

  for (const [what, body] of wrong) {
    const answer = await sendFirstKeys(browser, body)
    expect(answer.status, what).toBe(422)
    expect(answer.body, what).toMatchObject({ success: false, code: 'invalid' })
  }

  await expectNoKeys(svc)
  expect(await readPeople(svc)).toEqual([])
  expect((await sendFirstKeys(browser)).status).toBe(200)
})

test('first keys that are not kept are those that are too large', async () => {
  const { browser } = await signIn(svc, 'ada', { known: false })

  expect((await sendFirstKeys(browser, { ...keys, padding: 'x'.repeat(1_000_000) })).status).toBe(413)
  await expectNoKeys(svc)
})

test('first keys that are refused are reported by their fault without their content', async () => {
  const { browser } = await signIn(svc, 'ada', { known: false })

  const { body, text } = await sendFirstKeys(browser, { ...keys, publicKey: 'hunter|hunter' })

  expect(body['errors']).toEqual({
    publicKey: ['The publicKey field must be an RSA key of 4096 bits, as SPKI in base64.'],
  })
  expect(text).not.toContain('hunter')
  expect(svc.log.join('')).not.toContain('hunter')
})
