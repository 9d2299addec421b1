import { randomBytes } from 'node:crypto'
import { afterAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { APPS_ON, addApp, establishConnection } from '../kit/apps/ext-app.ts'
import { buildFirstKeys, openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'

const base = '/api/svc/v1/user-keychain-values'
const FORM = '/req/profile/keychain-form'
const REWRAP = '/req/profile/rewrap-keychain'

const svc = await startApp(APPS_ON)
const snake = await startApp({ JSONAPI_MEMBER_CASE: 'snake' })
const chosen = await startApp({ JSONAPI_MEMBER_CASE: 'snake', KEYCHAIN_FORM: 'salted' })
const kept = await startApp({ KEYCHAIN_FORM: 'reference', KEYCHAIN_MAX_ENTRIES: '20', KEYCHAIN_MAX_BYTES: '65536' })
afterAll(() => Promise.all([svc, snake, chosen, kept].map((one) => one[Symbol.asyncDispose]())))

interface Entry {
  key: string
  keyType: string
  value: string
}

let people = 0

/** Registers a person with keys in the reference's form. */
async function withKeys(svc: TestApp) {
  const username = `person${++people}`
  const { browser, id } = await signIn(svc, username, { keys: false })
  expect((await browser.send('POST', '/handshake', { body: buildFirstKeys(username) })).status).toBe(200)
  return { browser, id, username }
}

const readKeychain = (svc: TestApp, id: number) =>
  svc.rows<Entry>('select key, key_type as "keyType", value from user_keychain_values where user_id = $1 order by id', [
    id,
  ])

const encode = (text: string) => Buffer.from(text).toString('base64')
const SALT = randomBytes(21).toString('base64')

/** Wraps entries anew as a browser does, in either form. */
const rewrap = (entries: Entry[], wrapping = SALT) =>
  entries.map(({ key, keyType, value }, index) => ({
    key,
    keyType,
    value: `${wrapping}${randomBytes(12).toString('base64')}|${encode(`new tag ${index}`)}|${encode('new text')}`,
    replaces: value.split('|')[1],
  }))

const withoutTag = (entries: (Entry & { replaces?: unknown })[]) =>
  entries.map(({ key, keyType, value }) => ({ key, keyType, value }))

const update = (browser: TestBrowser, body: object) => browser.send('POST', `${base}/actions/batch-update`, { body })
const roomEntry = (wrapping = '') => ({
  key: 'lab',
  keyType: 'room_key',
  value: `${wrapping}${randomBytes(12).toString('base64')}|${randomBytes(16).toString('base64')}|${encode('text')}`,
})
const readForm = async (browser: TestBrowser) => (await browser.send('GET', FORM)).body['form']

test('a keychain is wrapped anew as a whole, for its person alone', async () => {
  const ada = await withKeys(svc)
  const bob = await withKeys(svc)
  const bobBefore = await readKeychain(svc, bob.id)
  const entries = rewrap(await readKeychain(svc, ada.id))

  expect((await ada.browser.send('POST', REWRAP, { body: { entries } })).status).toBe(200)

  expect(await readKeychain(svc, ada.id)).toEqual(withoutTag(entries))
  expect(await readKeychain(svc, bob.id)).toEqual(bobBefore)
  const stolen = rewrap(bobBefore)
  expect((await ada.browser.send('POST', REWRAP, { body: { entries: stolen } })).status).toBe(409)
  expect(await readKeychain(svc, bob.id)).toEqual(bobBefore)
})

test('guests and tokens wrap no keychain anew, nor ask for its form', async () => {
  const { browser, id } = await withKeys(svc)
  const { token } = await svc.user({ abilities: ['read', 'write', 'keychain'] })
  const body = { entries: rewrap(await readKeychain(svc, id)) }

  for (const [method, path] of [
    ['GET', FORM],
    ['POST', REWRAP],
  ] as const) {
    const request = method === 'POST' ? { body } : {}
    expect((await openBrowser(svc.url).send(method, path, request)).status).toBe(401)
    expect((await svc.send(method, path, { token, ...request })).status).toBe(403)
    const foreign = { ...request, headers: { 'sec-fetch-site': 'cross-site' } }
    if (method === 'POST') expect((await browser.send(method, path, foreign)).status).toBe(403)
  }
})

test.for([
  ['an entry was changed', { set: [{ key: 'aiConvKey', keyType: 'ai_conv', value: roomEntry().value }] }],
  ['an entry was added', { set: [roomEntry()] }],
  ['an entry was removed', { remove: [{ key: 'aiConvKey', keyType: 'ai_conv' }] }],
] as const)('a keychain is not wrapped anew if %s since it was read', async ([, change]) => {
  const { browser, id } = await withKeys(svc)
  const entries = rewrap(await readKeychain(svc, id))
  expect((await update(browser, change)).status).toBe(200)
  const before = await readKeychain(svc, id)

  const { status, body } = await browser.send('POST', REWRAP, { body: { entries } })

  expect([status, body]).toMatchObject([409, { code: 'keychain_rewrapped' }])
  expect(await readKeychain(svc, id)).toEqual(before)
})

test('a browser with the former key adds nothing to a keychain wrapped anew', async () => {
  const { browser, id } = await withKeys(svc)
  const entries = rewrap(await readKeychain(svc, id))
  await browser.send('POST', REWRAP, { body: { entries } })

  const stale = await update(browser, { set: [roomEntry()] })
  const foreign = await update(browser, { set: [roomEntry(randomBytes(21).toString('base64'))] })

  for (const { status, body } of [stale, foreign])
    expect([status, body]).toMatchObject([409, { errors: [{ code: 'keychain_rewrapped' }] }])
  expect(await readKeychain(svc, id)).toEqual(withoutTag(entries))
  expect((await update(browser, { set: [roomEntry(SALT)] })).status).toBe(200)
  expect((await update(browser, { clean: true, set: [roomEntry()] })).status).toBe(200)
})

test('an entry that could not be wrapped anew lets no stale browser add others', async () => {
  const { browser, id } = await withKeys(svc)
  const before = await readKeychain(svc, id)
  const values = new Map(before.map(({ key, value }) => [key, value]))
  const entries = rewrap(before).map((entry) =>
    entry.key === 'aiConvKey' ? { ...entry, value: values.get(entry.key) ?? '' } : entry,
  )
  expect((await browser.send('POST', REWRAP, { body: { entries } })).status).toBe(200)

  const { status, body } = await update(browser, { set: [roomEntry()] })

  expect([status, body]).toMatchObject([409, { errors: [{ code: 'keychain_rewrapped' }] }])
  expect(await readKeychain(svc, id)).toEqual(withoutTag(entries))
  expect((await update(browser, { set: [roomEntry(SALT)] })).status).toBe(200)
})

test.for([
  ['too many entries', (entries: object[]) => Array(10_001).fill(entries[0])],
  ['an entry twice', (entries: object[]) => [...entries, entries[0]]],
  ['one entry', (entries: object[]) => entries.slice(0, 1)],
  ['no list', () => 'all'],
  ['an entry without what it replaces', (entries: object[]) => entries.map((entry) => ({ ...entry, replaces: '' }))],
  ['a value of two parts', (entries: object[]) => entries.map((entry) => ({ ...entry, value: 'YQ==|YQ==' }))],
] as const)('wrapping a keychain anew with %s is refused', async ([, spoil]) => {
  const { browser, id } = await withKeys(svc)
  const before = await readKeychain(svc, id)

  const answer = await browser.send('POST', REWRAP, { body: { entries: spoil(rewrap(before)) } })

  expect([answer.status, answer.body]).toMatchObject([422, { code: 'invalid' }])
  expect(await readKeychain(svc, id)).toEqual(before)
})

test('a full keychain can be wrapped anew, but not filled by that', async () => {
  const { browser, id } = await withKeys(kept)
  const large = Array.from({ length: 4 }, (_, index) => ({
    ...roomEntry(),
    key: `k${index}`,
    value: `AAAA|AAAA|${encode('v'.repeat(12_000))}`,
  }))
  expect((await update(browser, { set: large })).status).toBe(200)
  const entries = rewrap(await readKeychain(kept, id), '')
  const longer = entries.map((entry) => ({ ...entry, value: `AAAA|AAAA|${encode('v'.repeat(12_000))}` }))

  expect((await browser.send('POST', REWRAP, { body: { entries: longer } })).status).toBe(422)
  expect((await browser.send('POST', REWRAP, { body: { entries } })).status).toBe(200)
})

test('the form of keychains follows the setting, else the front end that is used', async () => {
  for (const [of, form, isRestricted] of [
    [svc, 'salted', false],
    [snake, 'reference', true],
    [chosen, 'salted', false],
    [kept, 'reference', true],
  ] as const) {
    const { browser } = await withKeys(of)
    expect(await readForm(browser)).toBe(form)
    const { body } = await browser.send('GET', '/trpc/configs.get?input={"id":"security"}')
    expect(body).toMatchObject({
      result: { data: { values: { keychainForm: form, passkeyRestrictCharacters: isRestricted } } },
    })
  }
  const { browser, id } = await withKeys(kept)
  const body = { entries: rewrap(await readKeychain(kept, id)) }
  expect((await browser.send('POST', REWRAP, { body })).status).toBe(409)
})

test('whoever has linked an app with keys keeps the form of the reference', async () => {
  const { browser, id } = await withKeys(svc)
  const other = await withKeys(svc)
  const app = await addApp(svc, { name: 'With keys', needsKeys: false })
  await establishConnection(browser, await app.connectRequest('narrow'), {})
  expect(await readForm(browser)).toBe('salted')
  const entries = rewrap(await readKeychain(svc, id))

  expect((await establishConnection(browser, await app.connectRequest('learner'))).status).toBe(200)

  expect([await readForm(browser), await readForm(other.browser)]).toEqual(['reference', 'salted'])
  expect((await browser.send('POST', REWRAP, { body: { entries } })).status).toBe(409)
  await svc.rows("update access_tokens set expires_at = now() - interval '1 second' where user_id = $1", [id])
  expect(await readForm(browser)).toBe('salted')
  expect((await browser.send('POST', REWRAP, { body: { entries } })).status).toBe(200)
})

test("an app gets no passkey while the keychain's form is unknown to it", async () => {
  const { browser, id } = await withKeys(svc)
  const app = await addApp(svc, { name: 'Opens by the reference' })
  const request = await app.connectRequest('learner')
  await browser.send('POST', REWRAP, { body: { entries: rewrap(await readKeychain(svc, id)) } })

  const refusal = await establishConnection(browser, request)

  expect([refusal.status, refusal.body]).toMatchObject([409, { errors: [{ code: 'keychain_rewrapped' }] }])
  await browser.send('POST', REWRAP, { body: { entries: rewrap(await readKeychain(svc, id), '') } })
  expect((await establishConnection(browser, request)).status).toBe(200)
})

const change = (browser: TestBrowser, body: object) => browser.send('POST', '/trpc/keychain.changePasskey', { body })
const readBackup = (id: number) => svc.rows('select ciphertext, iv, tag from passkey_backups where user_id = $1', [id])
const { passkeyBackup } = buildFirstKeys('changed')

test('another passkey replaces keychain and backup, and ends other sessions and links', async () => {
  const { browser, id, username } = await withKeys(svc)
  const other = openBrowser(svc.url)
  await other.login(username)
  const app = await addApp(svc, { name: 'Has the old passkey' })
  await establishConnection(browser, await app.connectRequest('learner'))
  const entries = rewrap(await readKeychain(svc, id))

  expect((await change(browser, { entries, passkeyBackup })).status).toBe(200)

  expect(await readKeychain(svc, id)).toEqual(withoutTag(entries))
  expect(await readBackup(id)).toEqual([passkeyBackup])
  expect([await browser.standing(), await other.standing()]).toEqual(['internal_authenticated', 'internal'])
  expect(await app.connection('learner')).toMatchObject({ connectionType: 'external_app' })
  expect(await readForm(browser)).toBe('salted')
})

test.for([
  ['entries that are not those of now', { entries: (entries: object[]) => entries.slice(1) }, 409],
  ['a backup that is none', { passkeyBackup: { ...passkeyBackup, iv: '?' } }, 400],
  ['no backup', { passkeyBackup: undefined }, 400],
] as const)('a change of the passkey with %s leaves the old one working', async ([, wrong, expected]) => {
  const { browser, id, username } = await withKeys(svc)
  const other = openBrowser(svc.url)
  await other.login(username)
  const [before, backup] = [await readKeychain(svc, id), await readBackup(id)]
  const entries = rewrap(before)
  const spoilt = 'entries' in wrong ? { entries: wrong.entries(entries), passkeyBackup } : { entries, ...wrong }

  expect((await change(browser, spoilt)).status).toBe(expected)

  expect([await readKeychain(svc, id), await readBackup(id)]).toEqual([before, backup])
  expect(await other.standing()).toBe('internal_authenticated')
})

test('of two changes of a passkey at once exactly one succeeds as a whole', async () => {
  const { browser, id } = await withKeys(svc)
  const before = await readKeychain(svc, id)
  const backups = ['first', 'second'].map((name) => buildFirstKeys(name).passkeyBackup)
  const changes = backups.map((backup) => ({ entries: rewrap(before), passkeyBackup: backup }))

  const answers = await Promise.all(changes.map((body) => change(browser.copy(), body)))

  const won = answers.findIndex(({ status }) => status === 200)
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
  expect(await readKeychain(svc, id)).toEqual(withoutTag(changes[won]!.entries))
  expect(await readBackup(id)).toEqual([backups[won]])
})
