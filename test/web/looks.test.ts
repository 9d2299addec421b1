import { afterAll, expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { openProfile, showProfile } from '../kit/web/pages.ts'

const svc = await startApp()
afterAll(() => svc[Symbol.asyncDispose]())

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
    await using person = await openProfile(svc, `person-${locale}-${colorScheme}`, { ...phone, locale, colorScheme })
    await using guest = await openPage(svc.url, { ...phone, locale, colorScheme })
    await fillProfile(person.id)

    for (const [{ page }, path] of [
      [guest, '/login?ended=1'],
      [guest, '/login?error=x'],
      [guest, '/nope'],
      [person, '/handshake'],
      [person, '/profile'],
      [person, '/logout'],
    ] as const) {
      await page.goto(path)
      await page.locator('#languages button:not([disabled])').waitFor()
      if (path === '/handshake') await page.click('summary')
      if (path === '/profile') await page.locator('#usage > table').waitFor()
      expect([path, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([path, 390])
      await expectAccessible(page)
    }
    await person.page.goto('/profile')
    await person.page.locator('#tokens button').first().click()
    await person.page.waitForSelector('dialog')
    await expectAccessible(person.page)
  })
})

describeWith('chromium')('the profile', () => {
  test('writes dates and numbers in the language of the page, whatever that of the browser is', async () => {
    await using person = await openProfile(svc, 'translated', { locale: 'en-US' })
    const { page } = person
    await fillProfile(person.id)
    const texts = async () => {
      await showProfile(page)
      return [await page.textContent('#usage'), await page.textContent('#sessions')].join(' ')
    }

    const english = await texts()
    expect(english).toContain('1,540')
    expect(english).toMatch(/\d{1,2}\/\d{1,2}\/\d{4}/)

    await page.click('#languages button')
    await page.waitForSelector('html[lang=de]')
    const german = await texts()
    expect(german).toContain('1.540')
    expect(german).toMatch(/\d{1,2}\.\d{1,2}\.\d{4}/)
    expect(german).not.toMatch(/1,540|\d\/\d{4}/)
  })

  test('says that a change was saved until the next one, and of one that failed only that', async () => {
    await using person = await openProfile(svc, 'saving')
    const { page } = person
    const outcome = page.locator('#about .outcome')
    await page.fill('#bio', 'Plays chess.')
    await page.click('#about button')
    await outcome.getByText('Saved.').waitFor()

    await page.fill('#bio', 'Plays go.')
    expect(await outcome.textContent()).toBe('')
    await page.route('**/users/*', (route) => route.abort())
    await page.click('#about button')
    await page.locator('#about .outcome.wrong').filter({ hasText: /./ }).waitFor()

    expect(await outcome.textContent()).not.toContain('Saved.')
    await page.unroute('**/users/*')
    await page.click('#about button')
    await outcome.getByText('Saved.').waitFor()
    expect(await outcome.getAttribute('class')).toBe('outcome')
    await page.setInputFiles('#avatar', { name: 'me.png', mimeType: 'image/png', buffer: Buffer.from('none') })
    expect(await outcome.textContent()).toBe('')
  })
})
