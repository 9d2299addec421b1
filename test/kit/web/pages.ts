import { setTimeout as pause } from 'node:timers/promises'
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import * as web from '../../../facades/web/browser/crypto.ts'
import { startApp, type TestApp } from '../app.ts'
import { addAccount, openBrowser, PASSWORD } from '../browser.ts'
import { makePublicKey } from '../identity/people.ts'
import { openPage } from './chromium.ts'
import { injectKeyPair, loadKeyPairs } from './crypto.ts'

/** Signs in on the page for it, wherever that then leads. */
export async function signIn(page: Page, account = 'ada', password = PASSWORD): Promise<void> {
  if (!page.url().includes('/login')) await page.goto('/login')
  await page.fill('[name=account]', account)
  await page.fill('[name=password]', password)
  await page.click('#login button')
  await waitForAddress(page, /^\w+:\/\/[^/]+\/(register|handshake|chat|settings)/)
}

/**
 * Waits until a page has this address, and is loaded. `page.waitForURL` fails where a navigation is replaced by another
 * one on its way.
 */
export async function waitForAddress(page: Page, address: RegExp | string): Promise<void> {
  const isThere = () => (typeof address === 'string' ? page.url() === address : address.test(page.url()))
  const end = Date.now() + 60_000
  // The bench waits, too, so this uses nothing of the test runner.
  while (!isThere()) {
    if (Date.now() > end) throw new Error(`The page is at ${page.url()} instead of ${address}.`)
    await pause(50)
  }
  await page.waitForLoadState()
}

/** Waits until an element has the focus, which often moves a moment after what is shown. */
export const waitForFocus = (target: Locator): Promise<void> =>
  expect.poll(() => target.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true)

/** Opens the menu of the person who is signed in. */
export async function openAccountMenu(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account of/ }).click()
  await page.getByRole('menu', { name: 'Account' }).waitFor()
}

/** Shows a part of the settings, and waits until all of it is there. */
export async function showSettings(page: Page, section = 'profile'): Promise<void> {
  await page.goto(`/settings/${section}`)
  await waitForSettings(page)
}

/** Waits until all of a part of the settings is there. */
export async function waitForSettings(page: Page): Promise<void> {
  await page.locator('main section').first().waitFor()
  await page.locator('main [aria-busy="true"]').first().waitFor({ state: 'detached' })
}

/** Signs in as the page for it does, without loading that page and the one behind it. */
async function signInQuietly(page: Page, account: string): Promise<void> {
  const request = { data: { account, password: PASSWORD }, headers: { 'sec-fetch-site': 'same-origin' } }
  const answer = await page.context().request.post('/req/login', request)
  expect(answer.status()).toBe(200)
}

/** Opens a part of a new person's settings. Their public key has no private key. */
export async function openSettings(
  svc: TestApp,
  account: string,
  { section, ...options }: BrowserContextOptions & { section?: string } = {},
) {
  const { id } = await addAccount(svc, account)
  await svc.rows('update users set public_key = $1 where id = $2', [makePublicKey(account), id])
  await svc.rows('delete from access_tokens where user_id = $1', [id])
  const chromium = await openPage(svc.url, options)
  await signInQuietly(chromium.page, account)
  await showSettings(chromium.page, section)
  return { ...chromium, id }
}

export const PASSKEY = 'Correct-Horse-7!'

/** Makes keys from an existing pair, unless the page shall generate one; returns the recovery code. */
export async function makeKeys(page: Page, { passkey = PASSKEY, isGiven = true } = {}): Promise<string> {
  if (isGiven) await injectKeyPair(page)
  await page.goto('/handshake')
  await page.fill('[name=passkey]', passkey)
  await page.fill('[name=repeat]', passkey)
  await page.click('#handshake [type=submit]')
  // A pair of 4096 bits is found soon or late.
  await page.waitForSelector('#kept', { timeout: 240_000 })
  return (await page.textContent('#kept output')) ?? ''
}

/** Gives a newcomer keys in the form of the reference, as another front end does. */
export async function registerByReference(svc: TestApp, account: string, passkey = PASSKEY) {
  const browser = openBrowser(svc.url)
  await browser.login(account)
  const { body } = await browser.send('GET', '/trpc/configs.get?input={"id":"salts"}')
  const { values: salts } = (body as { result: { data: { values: web.Salts } } }).result.data
  const [{ publicKey, privateKey }] = await loadKeyPairs()
  const key = await web.passkeyKey(passkey, salts)
  const plain = [
    { key: 'privateKey', keyType: 'private_key', value: privateKey },
    { key: 'publicKey', keyType: 'public_key', value: publicKey },
    { key: 'aiConvKey', keyType: 'ai_conv', value: web.makeKey() },
  ] as const
  const keychain = await Promise.all(plain.map((entry) => web.sealEntry(key, entry)))
  const { backupCode, passkeyBackup } = await web.makeBackup(passkey, account, salts)
  const { status } = await browser.send('POST', '/handshake', { body: { publicKey, keychain, passkeyBackup } })
  expect(status).toBe(200)
  return { passkey, backupCode, salts }
}

/** Signs out by the page for that. */
export async function signOut(page: Page): Promise<void> {
  await page.goto('/logout')
  await page.click('#logout button')
  await waitForAddress(page, /login/)
}

/** A service with a person who has not signed in yet. */
export async function startWithNewcomer(settings: Record<string, string> = {}): Promise<TestApp> {
  const svc = await startApp(settings)
  await addAccount(svc, 'ada', { known: false })
  return svc
}
