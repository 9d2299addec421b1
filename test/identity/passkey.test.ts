import { afterEach, expect, test, vi } from 'vitest'
import { startApp } from '../kit/app.ts'
import { addAccount, buildFirstKeys, openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import {
  expectNoKeys,
  readKeychains,
  readPasskeyBackups,
  readPeople,
  removeEverybody,
  sendFirstKeys,
} from '../kit/identity/first-keys.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startApp)
afterEach(() => removeEverybody(svc))

const path = '/req/profile/passkey-backup'

test('the backup of a passkey comes back to its person and nobody else', async () => {
  const { browser: ada } = await signIn(svc, 'ada', { known: false })
  const { browser: bob } = await signIn(svc, 'bob', { known: false })
  await sendFirstKeys(ada, buildFirstKeys('of ada'))
  await sendFirstKeys(bob, buildFirstKeys('of bob'))

  const answer = await ada.send('GET', path)

  expect(answer.body).toEqual({ success: true, passkeyBackup: buildFirstKeys('of ada').passkeyBackup })
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect((await bob.send('GET', path)).body['passkeyBackup']).toEqual(buildFirstKeys('of bob').passkeyBackup)
})

test('the backup of a passkey is closed to guests, tokens and people still registering', async () => {
  const { browser: ada, token } = await signIn(svc, 'ada')
  const { browser: bob } = await signIn(svc, 'bob', { known: false })

  expect((await openBrowser(svc.url).send('GET', path)).status).toBe(401)
  expect((await svc.send('GET', path, { token })).status).toBe(403)
  expect((await bob.send('GET', path)).status).toBe(403)
  expect((await ada.send('GET', path)).status).toBe(404)
})

test('the backup of a passkey is replaced by a new one, never added to', async () => {
  const { browser, id } = await signIn(svc, 'ada', { keys: false })
  await sendFirstKeys(browser)
  const { passkeyBackup } = buildFirstKeys('new')

  const renew = async (body: object) => (await browser.send('POST', '/trpc/passkey.renewBackup', { body })).status
  expect(await renew(passkeyBackup)).toBe(200)
  expect(await renew({ ...passkeyBackup, iv: '?' })).toBe(400)

  expect(await readPasskeyBackups(svc)).toEqual([{ user_id: id, ...passkeyBackup }])
})

const reset = (browser: TestBrowser) => browser.send('POST', '/req/profile/reset')

test('a reset deletes keys and backup after a fresh login, and ends other sessions', async () => {
  const { browser, id } = await signIn(svc, 'ada', { keys: false })
  await sendFirstKeys(browser)
  const other = openBrowser(svc.url)
  await other.login('ada')
  const before = browser.copy()

  const { status, body } = await reset(browser)

  expect([status, body]).toEqual([200, { success: true, redirectUri: '/register' }])
  await expectNoKeys(svc)
  expect(await browser.standing()).toBe('internal_registering_user')
  expect([await other.standing(), await before.standing()]).toEqual(['internal', 'internal'])
  expect((await sendFirstKeys(browser, buildFirstKeys('second'))).status).toBe(200)
  expect(await readPeople(svc)).toEqual([
    expect.objectContaining({ id, public_key: buildFirstKeys('second').publicKey }),
  ])
})

test('a reset takes a login of the last ten minutes', async () => {
  const { browser } = await signIn(svc, 'ada', { keys: false })
  await sendFirstKeys(browser)
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10 * 60_000 + 1000 })
  try {
    expect(await reset(browser)).toMatchObject({ status: 403, body: { code: 'fresh_login_needed' } })
    expect(await readKeychains(svc)).toHaveLength(3)
    await browser.login('ada')
    expect((await reset(browser)).status).toBe(200)
  } finally {
    vi.useRealTimers()
  }
})

test('a reset affects nobody else, and is closed to guests, tokens and registrants', async () => {
  const { browser: ada, token } = await signIn(svc, 'ada', { keys: false })
  const { browser: bob } = await signIn(svc, 'bob', { known: false })
  await sendFirstKeys(ada)
  await addAccount(svc, 'cid', { known: false })

  expect((await reset(bob)).status).toBe(403)
  expect((await svc.send('POST', '/req/profile/reset', { token })).status).toBe(403)
  expect((await reset(openBrowser(svc.url))).status).toBe(401)
  await sendFirstKeys(bob, buildFirstKeys('of bob'))
  expect((await reset(bob)).status).toBe(200)

  expect(await readKeychains(svc)).toHaveLength(3)
  expect(await readPasskeyBackups(svc)).toHaveLength(1)
})
