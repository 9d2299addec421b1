import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { openSettings, settingsShown, showSettings } from '../kit/web/pages.ts'

const svc = await startApp()
afterAll(() => svc[Symbol.asyncDispose]())

const sections = ['profile', 'security', 'tokens', 'apps', 'usage', 'sessions', 'appearance']

const languageButton = (page: Page) => page.locator('#languages button:not([disabled])')

const phone = { viewport: { width: 390, height: 844 } }

/** Some tokens and some use of models, so that the page is full. */
async function fillProfile(userId: number): Promise<void> {
  await svc.rows(
    `insert into access_tokens (user_id, name, hash, abilities, created_at)
     values ($1, 'x', repeat('0', 64), '{ai,user,read,write,keychain}', now()), ($1, repeat('W', 16), repeat('1', 64), '{ai}', now())`,
    [userId],
  )
  await svc.rows(
    `insert into usage_records (request_id, user_id, model, provider, input_tokens, output_tokens, context, outcome, duration_ms, created_at)
     select gen_random_uuid()::text, $1, 'm', 'p', 1200 * n, 340, 'api', 'completed', 10, now() - n * interval '1 day'
       from generate_series(1, 5) n`,
    [userId],
  )
}

describeWith('chromium')('on a phone', () => {
  test.for([
    // The language decides what fits, the color scheme what can be read: each comes once.
    ['en-US', 'dark'],
    ['de-DE', 'light'],
  ] as const)('every page in %s and %s fits and keeps nobody out', async ([locale, colorScheme]) => {
    await using person = await openSettings(svc, `person-${locale}-${colorScheme}`, { ...phone, locale, colorScheme })
    await using guest = await openPage(svc.url, { ...phone, locale, colorScheme })
    await fillProfile(person.id)

    for (const [{ page }, path] of [
      [guest, '/login?ended=1'],
      [guest, '/login?error=x'],
      [guest, '/nope'],
      [person, '/handshake'],
      ...sections.map((section) => [person, `/settings/${section}`] as const),
      [person, '/logout'],
    ] as const) {
      await page.goto(path)
      await (path.startsWith('/settings') ? settingsShown(page) : languageButton(page).waitFor())
      if (path === '/handshake') await page.click('summary')
      expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, 390])
      await expectAccessible(page)
    }
    await showSettings(person.page, 'tokens')
    await person.page.locator('.settings-list button').first().click()
    await person.page.getByRole('alertdialog').waitFor()
    await expectAccessible(person.page)
  })
})
