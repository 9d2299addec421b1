import sharp from 'sharp'
import { afterAll, expect, test } from 'vitest'
import { builtInLabels } from '../../routers/system/labels/index.ts'
import { startApp } from '../kit/app.ts'
import { addAccount, openBrowser, PASSWORD } from '../kit/browser.ts'
import { publicKeyOf } from '../kit/identity/public-key.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { openProfile, showProfile, signIn } from '../kit/web/pages.ts'

const svc = await startApp()
afterAll(() => svc[Symbol.asyncDispose]())

const german = (key: string) => builtInLabels.de_DE[key] ?? ''

describeWith('chromium')('what people do on the pages', () => {
  test('what the server refuses is said in German on a German page', async () => {
    await using chromium = await openProfile(svc, 'anna', { locale: 'de-DE' })
    const { page } = chromium
    const outcome = page.locator('#about:not([aria-busy]) .outcome')

    await page.setInputFiles('#avatar', { name: 'me.png', mimeType: 'image/png', buffer: Buffer.from('no picture') })
    await page.click('#about button')
    await outcome.filter({ hasText: /./ }).waitFor()
    expect(await outcome.textContent()).toBe(german('page.error.field.avatar'))
    expect(await page.textContent('#avatar-name')).toBe('me.png')

    const large = { name: 'big.png', mimeType: 'image/png', buffer: Buffer.alloc(3_000_000) }
    await page.setInputFiles('#avatar', large)
    await page.click('#about button')
    await outcome.filter({ hasText: german('page.profile.avatarTooLarge') }).waitFor()

    await page.setInputFiles('#avatar', [])
    await page.fill('#name', '   ')
    await page.click('#about button')
    await outcome.filter({ hasText: german('page.error.field.displayName') }).waitFor()

    const picture = await sharp({ create: { width: 9, height: 9, channels: 3, background: '#369' } })
      .png()
      .toBuffer()
    await page.fill('#name', 'Anna')
    await page.setInputFiles('#avatar', { name: 'me.png', mimeType: 'image/png', buffer: picture })
    await page.click('#about button')
    await outcome.filter({ hasText: german('page.profile.saved') }).waitFor()
    expect(await outcome.getAttribute('class')).toBe('outcome')
    expect(await page.textContent('#avatar-name')).toBe('')
  })

  test('a service out of reach, and one that fails, are told apart', async () => {
    await using chromium = await openProfile(svc, 'berta')
    const { page } = chromium
    const outcome = page.locator('#about:not([aria-busy]) .outcome')
    const say = async (text: string) => {
      await page.click('#about button')
      await outcome.filter({ hasText: text }).waitFor()
    }

    await page.route('**/api/svc/v1/users/*', (route) => route.abort())
    await say('The service cannot be reached.')
    await page.unroute('**/api/svc/v1/users/*')
    await page.route('**/api/svc/v1/users/*', (route) => route.fulfill({ status: 503, json: {} }))
    await say('The service is not available right now.')
    await page.unroute('**/api/svc/v1/users/*')
    await say('Saved.')
  })

  test('an ended session leads to signing in, says why, and from there back', async () => {
    await using chromium = await openProfile(svc, 'clara', { locale: 'de-DE' })
    const { page } = chromium
    // As the unlock page keeps it, so that nobody has to enter the passkey again.
    await page.evaluate(`(async () => {
      const { keep } = await import('/assets/keystore.js')
      const { boot, ownerOf } = await import('/assets/boot.js')
      const algorithm = { name: 'AES-GCM', length: 256 }
      const key = await crypto.subtle.generateKey(algorithm, false, ['encrypt', 'decrypt'])
      await keep(ownerOf((await boot()).connection), key)
    })()`)

    await page.context().clearCookies()
    await page.fill('#token-name', 'laptop')
    await page.click('#create button')
    await page.waitForURL(/\/login\?ended=1/)
    expect(await page.getByRole('status').first().textContent()).toBe(german('page.login.ended'))
    await expectAccessible(page)

    await signIn(page, 'clara')
    await page.waitForURL(/\/profile$/)
    expect(await svc.rows('select name from access_tokens where user_id = $1', [chromium.id])).toEqual([])
  })

  test('nobody is sent to a foreign site after signing in', async () => {
    await using chromium = await openPage(svc.url)
    const { page } = chromium
    const { id } = await addAccount(svc, 'dora')
    await svc.rows('update users set public_key = $1 where id = $2', [publicKeyOf('dora'), id])

    await page.goto('/login?redirectUri=%2F%2Fevil.example')
    await signIn(page, 'dora')
    expect(new URL(page.url()).search).toBe('')
    const next = "import('/assets/go.js').then(({ wayOn }) => wayOn() ?? 'nowhere')"
    for (const foreign of ['/\\evil.example', '/..//evil.example', '/.//evil.example/x']) {
      await page.goto(`/handshake?redirectUri=${encodeURIComponent(foreign)}`)
      expect(await page.evaluate(next)).toBe('nowhere')
      await page.goto(`/login?ended=1&redirectUri=${encodeURIComponent(foreign)}`)
      expect(await page.evaluate('Object.values(sessionStorage).join()')).not.toContain('evil')
    }
    await page.goto('/handshake?redirectUri=%2Fprofile%3Fa')
    expect(await page.evaluate(next)).toBe('/profile?a')
  })

  test('revoking a token asks first, by keyboard, too', async () => {
    await using chromium = await openProfile(svc, 'emma')
    const { page, requests } = chromium
    const dialog = page.getByRole('dialog', { name: 'Revoke the token “laptop”?' })
    const focused = () => page.evaluate('document.activeElement.textContent.trim()')
    const revocations = () => requests.filter(({ url }) => url.endsWith('/revoke-token'))
    await page.fill('#token-name', 'laptop')
    await page.click('#create button')
    const revoke = page.getByRole('button', { name: 'Revoke: laptop' })
    await revoke.waitFor()

    await revoke.press('Enter')
    await dialog.waitFor()
    await expectAccessible(page)
    expect(await focused()).toBe('Cancel')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(await focused()).toBe('Revoke')

    await revoke.press('Enter')
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    expect(revocations()).toEqual([])

    await revoke.press('Enter')
    await page.keyboard.press('Tab')
    expect(await focused()).toBe('Revoke')
    await page.keyboard.press('Enter')
    await page.locator('#tokens-outcome', { hasText: 'The token “laptop” is revoked.' }).waitFor()
    expect(revocations()).toHaveLength(1)
    expect(await focused()).toBe('Access tokens')
    expect(await page.textContent('#tokens')).toBe('You have no tokens.')
  })

  test('a new token is copied by a button, and expires when its maker says', async () => {
    await using chromium = await openProfile(svc, 'frida', { permissions: ['clipboard-read', 'clipboard-write'] })
    const { page, complaints } = chromium
    const details = page.locator('#tokens li p')
    await page.fill('#token-name', 'laptop')
    await page.selectOption('#token-days', '30')
    await page.click('#create button')
    await page.getByRole('button', { name: 'Copy' }).click()
    await page.getByText('Copied.').waitFor()

    const token = await page.textContent('#token')
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(token)
    const [made] = await svc.rows(
      `select name, abilities, round(extract(epoch from expires_at - created_at) / 86400)::int as days
         from access_tokens where user_id = $1`,
      [chromium.id],
    )
    expect(made).toEqual({ name: 'laptop', abilities: ['ai', 'user', 'read'], days: 30 })
    expect(await details.nth(0).textContent()).toBe('Allows: asking models, reading your profile, reading data')
    expect(await details.nth(1).textContent()).toMatch(/^Created [\d/]+ · Never used · Expires [\d/]+$/)

    await svc.rows(
      "update access_tokens set last_used_at = '2026-02-03T12:34:00Z', expires_at = null where user_id = $1",
      [chromium.id],
    )
    await showProfile(page)
    expect(await details.nth(1).textContent()).toMatch(/ · Last used 2\/[34]\/2026, .+ · Does not expire$/)
    expect(await page.isVisible('#token')).toBe(false)
    expect(complaints).toEqual([])
  })

  test('dates are written in the language of the page, as the region of the browser has them', async () => {
    await using chromium = await openProfile(svc, 'greta', { locale: 'en-GB', timezoneId: 'UTC' })
    const { page } = chromium
    await svc.rows(
      `insert into access_tokens (user_id, name, hash, abilities, created_at)
       values ($1, 'old', repeat('0', 64), '{ai}', '2026-02-13T12:00:00Z')`,
      [chromium.id],
    )

    await showProfile(page)
    expect(await page.textContent('#tokens')).toContain('Created 13/02/2026')
    await page.getByRole('button', { name: 'Deutsch' }).click()
    await page.getByRole('heading', { name: 'Ihr Profil' }).waitFor()
    await page.locator('#tokens li').waitFor()
    expect(await page.textContent('#tokens')).toContain('Erzeugt am 13.2.2026')
  })

  test('what is working says so, lets nothing begin twice, and takes old errors away', async () => {
    await using chromium = await openProfile(svc, 'hanna')
    const { page, requests } = chromium
    const form = page.locator('#create')
    const outcome = form.locator('> .outcome')
    await page.fill('#token-name', ' ')
    await form.locator('button').first().click()
    await outcome.filter({ hasText: 'Please enter a name of 1 to 16 characters.' }).waitFor()
    expect(await outcome.getAttribute('class')).toBe('outcome wrong')
    const begun = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    await page.route('**/req/profile/create-token', async (route) => {
      begun.resolve()
      await held.promise
      await route.continue()
    })
    requests.length = 0

    await page.fill('#token-name', 'laptop')
    await page.press('#token-name', 'Enter')
    await begun.promise
    expect(await form.getAttribute('aria-busy')).toBe('true')
    expect(await form.locator('button').first().getAttribute('aria-disabled')).toBe('true')
    expect([await outcome.textContent(), await outcome.getAttribute('class')]).toEqual(['Working …', 'outcome'])
    await page.press('#token-name', 'Enter')
    held.resolve()
    await outcome.filter({ hasText: 'Copy the token now.' }).waitFor()
    await page.locator('#create:not([aria-busy])').waitFor()

    expect(await form.locator('button').first().getAttribute('aria-disabled')).toBeNull()
    expect(requests.filter(({ url }) => url.endsWith('/create-token'))).toHaveLength(1)
  })

  test('a page that cannot begin says so', async () => {
    await using chromium = await openPage(svc.url, { locale: 'de-DE' })
    const { page } = chromium
    await page.route('**/api/svc/v1/configs', (route) => route.fulfill({ status: 503, json: {} }))

    await page.goto('/login')

    await page
      .getByRole('alert')
      .filter({ hasText: german('page.error') })
      .waitFor()
  })

  test('people with a local account change their password', async () => {
    await using chromium = await openProfile(svc, 'ida')
    const { page } = chromium
    const other = openBrowser(svc.url)
    await other.login('ida')
    const outcome = page.locator('#password:not([aria-busy]) .outcome')
    const change = async (current: string, next: string, repeated: string, said: string) => {
      await page.fill('#current-password', current)
      await page.fill('#new-password', next)
      await page.fill('#repeat-password', repeated)
      await page.click('#password button')
      await outcome.filter({ hasText: said }).waitFor()
    }

    await change(PASSWORD, 'a new passphrase', 'another passphrase', 'The two new passwords are not the same.')
    await change('wrong', 'a new passphrase', 'a new passphrase', 'The current password is wrong.')
    await change(PASSWORD, 'short', 'short', 'Please choose another new password')
    await change(PASSWORD, 'IDA@example.org', 'IDA@example.org', 'Please choose another new password')
    await change(PASSWORD, 'a new passphrase', 'a new passphrase', 'Your password is changed.')

    expect(await page.inputValue('#current-password')).toBe('')
    expect(await page.locator('#sessions li').count()).toBe(1)
    expect(await other.standing()).toBe('internal')
    expect((await openBrowser(svc.url).login('ida', 'a new passphrase')).status).toBe(200)
    await showProfile(page)
    expect(await page.textContent('h1')).toBe('Your profile')
  })

  test('nobody is offered a password that the service does not keep', async () => {
    await using chromium = await openProfile(svc, 'jana')
    const { page } = chromium
    await page.locator('#password').waitFor()

    await svc.services.localAccounts.remove('jana')
    await showProfile(page)

    expect(await page.locator('#password').count()).toBe(0)
  })
})

describeWith('chromium')('the address of the sign-in page', () => {
  test('that is not the one of the service is named, with what to do', async () => {
    const here = svc.url.replace('127.0.0.1', 'svc.test')
    await using chromium = await openPage(here, { viewport: { width: 390, height: 800 } })
    const { page } = chromium

    await page.goto('/login')
    const notice = page.locator('#other-address')
    await notice.waitFor()

    expect(await notice.textContent()).toContain(`set BASE_URL to ${here}`)
    expect(await notice.getByRole('link').getAttribute('href')).toBe(svc.url)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390)
    await expectAccessible(page)
    // There a browser does not say that the request comes from our own page.
    await page.fill('#account', 'ada')
    await page.fill('#password', PASSWORD)
    await page.click('#login button')
    await page.getByText('Please open the service at its own address').waitFor()
  })

  test('is not worth a word where it is the one of the service', async () => {
    await using chromium = await openPage(svc.url)
    const { page } = chromium

    await page.goto('/login')
    await page.locator('#login button:not([disabled])').waitFor()

    expect(await page.isVisible('#other-address')).toBe(false)
  })
})
