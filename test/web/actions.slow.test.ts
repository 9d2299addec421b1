import { afterAll, expect, test } from 'vitest'
import { builtInLabels } from '../../routers/system/labels/index.ts'
import { startApp } from '../kit/app.ts'
import { addAccount, PASSWORD } from '../kit/browser.ts'
import { makePublicKey } from '../kit/identity/people.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { makeKeys, PASSKEY, signIn, waitForAddress } from '../kit/web/pages.ts'

const svc = await startApp()
afterAll(() => svc[Symbol.asyncDispose]())

const german = (key: string) => builtInLabels.de_DE[key] ?? ''

const foreignAddresses = ['/\\evil.example', '/..//evil.example', '/.//evil.example/x']

describeWith('chromium')('what people do on the pages', () => {
  test('an ended session leads to signing in, says why, and from there back', async () => {
    await addAccount(svc, 'clara', { known: false })
    await using chromium = await openPage(svc.url, { locale: 'de-DE' })
    const { page } = chromium
    await signIn(page, 'clara')
    await makeKeys(page)
    await page.goto('/handshake')
    await page.locator('#unlock [type=submit]').waitFor()

    await page.context().clearCookies()
    await page.fill('[name=passkey]', PASSKEY)
    await page.click('#unlock [type=submit]')
    await waitForAddress(page, /\/login\?ended=1/)
    await page
      .getByRole('status')
      .filter({ hasText: german('page.login.ended') })
      .waitFor()
    await expectAccessible(page)

    await signIn(page, 'clara')
    await waitForAddress(page, /\/handshake/)
  })

  test('nobody is sent to a foreign site after signing in', async () => {
    await using chromium = await openPage(svc.url)
    const { page } = chromium
    const { id } = await addAccount(svc, 'dora')
    await svc.rows('update users set public_key = $1 where id = $2', [makePublicKey('dora'), id])

    await page.goto('/login?redirectUri=%2F%2Fevil.example')
    await signIn(page, 'dora')
    expect(new URL(page.url()).search).toBe('')
    for (const foreign of foreignAddresses) {
      await page.goto(`/login?ended=1&redirectUri=${encodeURIComponent(foreign)}`)
      // A signed-in person is redirected to the chat, and from there to the page for the passkey.
      await waitForAddress(page, /\/handshake\?redirectUri=%2Fchat/)
      expect(await page.evaluate('Object.values(sessionStorage).join()')).not.toContain('evil')
    }
  })

  test('no address that leads on signs anybody out, or leads away', async () => {
    await addAccount(svc, 'emil', { known: false })
    await using chromium = await openPage(svc.url)
    const { page } = chromium
    await signIn(page, 'emil')
    await makeKeys(page)

    for (const address of ['/logout', '/%6Cogout', '/x/../logout?a', ...foreignAddresses]) {
      await page.goto(`/handshake?redirectUri=${encodeURIComponent(address)}`)
      await page.locator('#unlock [type=submit]').waitFor()
    }
    await page.goto('/handshake?redirectUri=%2Fsettings%2Fprofile%3Fa')

    await waitForAddress(page, /settings\/profile\?a/)
  })

  test('a page that cannot begin says so', async () => {
    await using chromium = await openPage(svc.url, { locale: 'de-DE' })
    const { page } = chromium
    await page.route('**/assets/labels/*', (route) => route.fulfill({ status: 503, json: {} }))

    await page.goto('/login')

    await page
      .getByRole('alert')
      .filter({ hasText: german('page.error') })
      .waitFor()
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
    // At such an address browsers send no Sec-Fetch-Site header.
    await page.fill('[name=account]', 'ada')
    await page.fill('[name=password]', PASSWORD)
    await page.click('#login button')
    await page.getByText('Please open the service at its own address').waitFor()
  })

  test('is not worth a word where it is the one of the service', async () => {
    await using chromium = await openPage(svc.url)
    const { page } = chromium

    await page.goto('/login')
    await page.locator('#login button').waitFor()

    expect(await page.isVisible('#other-address')).toBe(false)
  })
})
