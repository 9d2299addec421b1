import type { BrowserContextOptions, Page } from 'playwright-core'
import type { TestApp } from '../app.ts'
import { addAccount, PASSWORD } from '../browser.ts'
import { publicKeyOf } from '../identity/public-key.ts'
import { openPage } from './chromium.ts'

/** Signs in on the page for it, wherever that then leads. */
export async function signIn(page: Page, account = 'ada', password = PASSWORD): Promise<void> {
  if (!page.url().includes('/login')) await page.goto('/login')
  await page.fill('#account', account)
  await page.fill('#password', password)
  await page.click('#login button')
  await page.waitForURL(/register|handshake|profile/)
}

/** Shows the profile, and waits until all of it is there. */
export async function showProfile(page: Page): Promise<void> {
  await page.goto('/profile')
  await page.locator('#usage:not([aria-busy])').waitFor()
  await page.locator('#sessions:not([aria-busy])').waitFor()
}

/** Somebody of their own at their profile. Their key opens nothing: for most of the page it is enough that there is one. */
export async function openProfile(svc: TestApp, account: string, options: BrowserContextOptions = {}) {
  const { id } = await addAccount(svc, account)
  await svc.rows('update users set public_key = $1 where id = $2', [publicKeyOf(account), id])
  await svc.rows('delete from access_tokens where user_id = $1', [id])
  const chromium = await openPage(svc.url, options)
  await signIn(chromium.page, account)
  await showProfile(chromium.page)
  return { ...chromium, id }
}
