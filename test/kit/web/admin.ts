import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { TestApp } from '../app.ts'
import { expectAccessible } from './chromium.ts'
import { openSettings } from './pages.ts'

/** Shows a page of the administration, and waits until all of it is there. */
export async function showAdmin(page: Page, path: string): Promise<void> {
  await page.goto(`/admin/${path}`)
  await waitForAdmin(page)
}

export async function waitForAdmin(page: Page): Promise<void> {
  await page.locator('main h1').waitFor()
  await page.locator('main [aria-busy="true"]').first().waitFor({ state: 'detached' })
}

/** An administrator who has just signed in, at a page of the administration. */
export async function openAdmin(
  svc: TestApp,
  account: string,
  { path = 'people', ...options }: BrowserContextOptions & { path?: string } = {},
) {
  const settingsPage = await openSettings(svc, account, options)
  await svc.rows("update users set role = 'admin' where id = $1", [settingsPage.id])
  await showAdmin(settingsPage.page, path)
  return settingsPage
}

/** Makes all sign-ins old, so that changes require another sign-in. */
export const ageSessions = (svc: TestApp) =>
  svc.rows("update sessions set signed_in_at = signed_in_at - interval '1 hour'")

const looks = [
  { colorScheme: 'light', height: 740 },
  { colorScheme: 'dark', height: 900 },
] as const

/** Checks a page in both schemes, narrow and wide; VIEWS in the environment is a folder for its pictures. */
export async function expectFitting(page: Page, what: string, widths: readonly [number, number] = [360, 1280]) {
  for (const [at, { colorScheme, height }] of looks.entries()) {
    const size = { width: widths[at] as number, height }
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize(size)
    expect([what, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([what, size.width])
    await expectAccessible(page)
    const folder = process.env['VIEWS']
    if (!folder) continue
    await mkdir(folder, { recursive: true })
    await page.screenshot({ path: join(folder, `${what}-${colorScheme}.png`) })
  }
}
