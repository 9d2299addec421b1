import type { Page } from 'playwright-core'
import sharp from 'sharp'
import { expect, test, vi } from 'vitest'
import * as web from '../../facades/web/browser/crypto.ts'
import { startApp } from '../kit/app.ts'
import { APPS_ON, addApp, EXT_APPS, establishConnection, openSealed } from '../kit/apps/ext-app.ts'
import { addAccount, PASSWORD, signIn as signInBy } from '../kit/browser.ts'
import { advanceClock } from '../kit/clock.ts'
import { makePublicKey } from '../kit/identity/people.ts'
import { sendsPage, startSite } from '../kit/net/site.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { makeKeys, openSettings, showSettings, signIn, waitForAddress } from '../kit/web/pages.ts'

const PASSKEY = 'Correct-Horse-7!'
const NARROW = { needsKeys: false, abilities: ['ai', 'user'] as ('ai' | 'user')[] }

const site = shareResource(async () => {
  const bytes = await sharp({ create: { width: 96, height: 96, channels: 3, background: '#06c' } })
    .png()
    .toBuffer()
  return startSite('127.0.0.2', { '/logo.png': sendsPage(bytes, { 'content-type': 'image/png' }) })
})
const svc = shareResource(() =>
  startApp({ ...APPS_ON, LINK_PREVIEW_NETWORKS: '127.0.0.2', LINK_PREVIEW_PORTS: String(site.port) }),
)

let apps = 0
/** Adds an app whose addresses are answered in the given browser. */
async function appFor(page: Page, given: Parameters<typeof addApp>[1] = {}) {
  await page.route('https://portal.example/**', (route) => route.fulfill({ body: 'Back at the portal' }))
  return addApp(svc, { name: `Portal & <b>${++apps}</b>`, ...given })
}

const ready = (page: Page) => page.locator('#connect [type=submit]').waitFor()
const linksOf = (appId: string) =>
  svc.rows('select external_id as user, passkey is not null as keys from ext_app_links where app_id = $1', [appId])

/** Opens the keychain of a person as an app does, which knows only the form of the reference. */
async function expectOpenedByReference(page: Page, account: string, passkey: string): Promise<void> {
  const connection = await page.request.get(`${svc.url}/api/svc/v1/connections/svc`)
  const { salts } = (await connection.json()).data.attributes as { salts: web.Salts }
  const key = await web.passkeyKey(passkey, salts)
  const entries = await svc.rows<{ keyType: web.KeyType; value: string }>(
    `select k.key_type as "keyType", k.value from user_keychain_values k join users u on u.id = k.user_id
      where u.username = $1`,
    [account],
  )
  expect(entries).toHaveLength(3)
  for (const { value } of entries) expect(await web.unseal(key, web.readSealed(value))).not.toBe('')
}

describeWith('chromium')('the page of consent', () => {
  test('a new person makes keys and agrees, and the app decrypts their passkey', async () => {
    await addAccount(svc, 'ada', { known: false })
    await using chromium = await openPage(svc.url)
    const { page, requests, complaints } = chromium
    const app = await appFor(page)
    const request = await app.connectRequest('learner 1')

    await page.goto(`/connect/${request}`)
    await signIn(page)
    expect(page.url()).toContain('/register')
    await page.getByRole('link', { name: 'I agree' }).click()
    await page.fill('[name=passkey]', PASSKEY)
    await page.fill('[name=repeat]', PASSKEY)
    await page.click('#handshake [type=submit]')
    await page.click('#kept a', { timeout: 240_000 })
    await ready(page)
    expect(new URL(page.url()).pathname).toBe(`/connect/${request}`)
    expect(await page.textContent('h1')).toBe(`Link “${app.name}”?`)
    expect(await page.textContent('#back')).toBe('https://portal.example/back')
    await expectAccessible(page)
    await page.fill('[name=passkey]', 'Another-Horse-7!')
    await page.click('#connect [type=submit]')
    await page.waitForSelector('#connect .error[role=status]')
    expect(await linksOf(app.id)).toEqual([])

    await page.fill('[name=passkey]', PASSKEY)
    await page.click('#connect [type=submit]')
    await waitForAddress(page, 'https://portal.example/back?svc-connect-status=success')

    const { passkey, apiToken } = await app.secrets('learner 1')
    expect(openSealed(String(passkey))).toBe(PASSKEY)
    await expectOpenedByReference(page, 'ada', openSealed(String(passkey)))
    const me = await svc.send('GET', '/api/svc/v1/users/me', { token: apiToken })
    expect(await me.json()).toMatchObject({ data: { attributes: { username: 'ada' } } })
    expect(requests.filter(({ url, body }) => `${url} ${body}`.includes(PASSKEY))).toEqual([])
    expect(complaints).toEqual([])
  })

  test('a keychain is wrapped for an app with keys, and stronger without it', async () => {
    const passphrase = 'Grüße vom Leuchtturm'
    await addAccount(svc, 'hedy', { known: false })
    await using chromium = await openPage(svc.url)
    const { page } = chromium
    const app = await appFor(page)
    await signIn(page, 'hedy')
    await makeKeys(page, { passkey: passphrase })
    const isSalted = async () => {
      const rows = await svc.rows<{ value: string }>(
        `select k.value from user_keychain_values k join users u on u.id = k.user_id where u.username = 'hedy'`,
      )
      return new Set(rows.map(({ value }) => web.readWrapping(value) !== ''))
    }
    expect(await isSalted()).toEqual(new Set([true]))

    await page.goto(`/connect/${await app.connectRequest('learner 9')}`)
    await ready(page)
    await page.fill('[name=passkey]', passphrase.normalize('NFD'))
    await page.click('#connect [type=submit]')
    await waitForAddress(page, 'https://portal.example/back?svc-connect-status=success')
    const { passkey } = await app.secrets('learner 9')
    expect(openSealed(String(passkey))).toBe(passphrase)
    await expectOpenedByReference(page, 'hedy', passphrase)

    const unlock = async () => {
      await page.goto('/handshake')
      await page.fill('[name=passkey]', passphrase)
      await page.click('#unlock [type=submit]')
      await waitForAddress(page, /chat/)
      await page.getByRole('textbox', { name: 'Message' }).waitFor()
    }
    await unlock()
    expect(await isSalted()).toEqual(new Set([false]))
    await showSettings(page, 'apps')
    await page.getByRole('list', { name: 'Linked apps' }).getByRole('listitem').getByRole('button').click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'End link' }).click()
    await expect.poll(() => linksOf(app.id)).toEqual([])
    await unlock()
    expect(await isSalted()).toEqual(new Set([true]))
  })

  test('a person grants some permissions, and sees the app until they end it', async () => {
    await using person = await openSettings(svc, 'grace', { locale: 'de-DE' })
    const { page, complaints } = person
    const app = await appFor(page, NARROW)
    // An address that only an app on this machine can have.
    await svc.rows('update ext_apps set logo_url = $1 where id = $2', [`${site.url}/logo.png`, Number(app.id)])

    await page.goto(`/connect/${await app.connectRequest('learner 2')}`)
    await ready(page)
    const logo = (await page.getAttribute('main img', 'src')) ?? ''
    const altered = await Promise.all(
      [logo.replace(/proxy-logo\/\d+/, 'proxy-logo/999'), logo.replace('expires=', 'expires=9')].map((path) =>
        page.request.get(path),
      ),
    )
    expect(altered.map((answer) => answer.status())).toEqual([404, 404])
    expect(await page.evaluate("document.querySelector('main img').decode().then(() => 'shown')")).toBe('shown')
    expect(site.requestedPaths).toEqual(['/logo.png'])
    expect(await page.isVisible('[name=passkey]')).toBe(false)
    expect(await page.isVisible('#page [role=alert]')).toBe(false)
    await page.check('input[name=keys][value=given]')
    await page.locator('[name=passkey]').waitFor()
    await page.locator('#page [role=alert]').waitFor()
    await expectAccessible(page)
    await page.check('input[name=keys][value=""]')
    await page.uncheck('input[value=user]')
    await page.uncheck('input[value=ai]')
    await page.click('#connect [type=submit]')
    await page.waitForSelector('#connect .error[role=status]')
    await page.check('input[value=ai]')
    await page.click('#connect [type=submit]')
    await waitForAddress(page, 'https://portal.example/back?svc-connect-status=success')

    const { passkey, privateKey, apiToken } = await app.secrets('learner 2')
    expect([passkey, privateKey]).toEqual([null, null])
    expect((await svc.send('GET', '/api/svc/v1/users/me', { token: apiToken })).status).toBe(403)
    await svc.authenticator.flush()
    await showSettings(page, 'apps')
    const line = page.getByRole('list', { name: 'Verknüpfte Apps' }).getByRole('listitem')
    expect(await line.locator('strong').textContent()).toBe(app.name)
    expect(await line.textContent()).toContain('Modelle fragen · Sie hat keinen Ihrer Schlüssel')
    expect(await line.textContent()).toMatch(/Verknüpft am .+ · Zuletzt benutzt .+ · Gültig bis /)
    await expectAccessible(page)
    await line.getByRole('button').click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Verknüpfung beenden' }).click()
    await line.locator('button').waitFor({ state: 'detached' })
    expect(await linksOf(app.id)).toEqual([])
    expect((await svc.send('GET', '/api/user', { token: apiToken })).status).toBe(401)
    expect(complaints).toEqual([])
  })

  test.for([
    ['en-US', 'dark', 360],
    ['de-DE', 'light', 360],
    ['de-DE', 'dark', 1280],
  ] as const)(
    'an app that gets the passkey has a warning in %s, %s, %i pixels',
    async ([locale, colorScheme, width]) => {
      const options = { locale, colorScheme, viewport: { width, height: 900 } }
      await using person = await openSettings(svc, `warned-${locale}-${colorScheme}`, options)
      const { page } = person
      const app = await appFor(page)

      await page.goto(`/connect/${await app.connectRequest(`warned ${locale} ${colorScheme}`)}`)
      await ready(page)

      const warning = page.locator('#page [role=alert]')
      expect(await warning.textContent()).toContain(
        locale === 'de-DE' ? 'Diese App bekommt Ihre Passphrase.' : 'This app gets your passphrase.',
      )
      const { bottom, form, size, others } = (await page.evaluate(`(() => {
      const warning = document.querySelector('#page [role=alert]')
      const sizeOf = (element) => parseFloat(getComputedStyle(element).fontSize)
      const others = [...document.querySelectorAll('main :not(h1)')].filter((each) => !warning.contains(each))
      return {
        bottom: warning.getBoundingClientRect().bottom,
        form: document.querySelector('#connect').getBoundingClientRect().top,
        size: sizeOf(warning.querySelector('strong')),
        others: Math.max(...others.map(sizeOf)),
      }
    })()`)) as { bottom: number; form: number; size: number; others: number }
      expect(bottom).toBeLessThan(form)
      expect(size).toBeGreaterThan(others)
      expect(await page.textContent('#connect [type=submit]')).toMatch(/passphrase/i)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      await expectAccessible(page)
    },
  )

  test("a person who declines returns to the app's requested address", async () => {
    await using person = await openSettings(svc, 'linus')
    const { page } = person
    const redirectUrls = ['https://portal.example/back', 'https://portal.example/course?id=7']
    const app = await appFor(page, { ...NARROW, redirectUrls })
    const path = `/connect/${await app.connectRequest('learner 3')}`

    await page.goto(`${path}?redirectUrl=${encodeURIComponent(redirectUrls[1]!)}`)
    await ready(page)
    expect(await page.textContent('#back')).toBe(redirectUrls[1])
    await page.click('#decline')
    await waitForAddress(page, 'https://portal.example/course?id=7&svc-connect-status=declined')

    expect(await linksOf(app.id)).toEqual([])
  })

  test('nobody is sent to an address that is not exactly registered', async () => {
    await using person = await openSettings(svc, 'edsger')
    const app = await appFor(person.page, NARROW)
    const path = `/connect/${await app.connectRequest('learner 4')}`

    for (const url of ['https://evil.example/', 'https://portal.example/back/', 'https://portal.example/back?x', '']) {
      const answer = await person.page.goto(`${path}?redirectUrl=${encodeURIComponent(url)}`)
      expect([url, answer?.status(), await person.page.locator('#connect').count()]).toEqual([url, 400, 0])
    }
  })

  test('a request is answered once, by its person, while it is fresh and unchanged', async () => {
    await using person = await openSettings(svc, 'barbara')
    const { page } = person
    const app = await appFor(page, NARROW)
    const { browser: other } = await signInBy(svc, 'mallory')
    const request = await app.connectRequest('learner 5')
    const shown = async (text: string) => {
      const answer = await page.goto(`/connect/${text}`)
      return [answer?.status(), await page.textContent('h1')]
    }
    const refused = [400, 'This request is no longer valid']

    await page.goto(`/connect/${request}`)
    expect((await other.send('GET', `/connect/${request}`)).status, "another person's").toBe(400)
    expect((await establishConnection(other, request, {})).status).toBe(400)
    await ready(page)
    await page.click('#connect [type=submit]')
    await waitForAddress(page, /success/)
    expect(await shown(request), 'answered').toEqual(refused)
    expect(await shown(`${request.slice(0, -12)}AAAAAAAAAAA=`), 'tampered with').toEqual(refused)
    const late = await app.connectRequest('learner 6')
    await svc.host.extApps.update({ id: app.id, name: `${app.name} renamed` })
    expect((await shown(late))[0], 'of an app that has another name by now').toBe(200)
    await svc.host.extApps.delete({ id: app.id })
    expect(await shown(late), 'of an app that is gone').toEqual(refused)
    expect(await linksOf(app.id)).toEqual([])
  })

  test("an expired request says so in the person's language, and links nothing", async () => {
    await using person = await openSettings(svc, 'frances', { locale: 'de-DE' })
    const { page } = person
    const app = await appFor(page, NARROW)
    const request = await app.connectRequest('learner 8')
    await page.goto(`/connect/${request}`)
    await ready(page)

    advanceClock(16 * 60_000)
    try {
      await page.click('#connect [type=submit]')
      const outcome = page.locator('#connect .error[role=status]')
      await outcome.waitFor()
      expect(await outcome.textContent()).toContain('Diese Anfrage gilt nicht mehr.')
      expect((await page.goto(`/connect/${request}`))?.status()).toBe(400)
      expect(await page.textContent('h1')).toBe('Diese Anfrage gilt nicht mehr')
      await page.setExtraHTTPHeaders({ 'x-app-locale': 'en_US' })
      await page.goto(`/connect/${request}`)
      expect(await page.textContent('h1')).toBe('This request is no longer valid')
    } finally {
      vi.useRealTimers()
    }
    expect(await linksOf(app.id)).toEqual([])
    expect(await app.connection('learner 8')).toMatchObject({ connectionType: 'external_app' })
  })

  test("a person signed out returns to the page by an app's longest address", async () => {
    const { id } = await addAccount(svc, 'katherine')
    await svc.rows('update users set public_key = $1 where id = $2', [makePublicKey('katherine'), id])
    await using chromium = await openPage(svc.url)
    const { page } = chromium
    const long = `https://portal.example${'/'.repeat(2048 - 22)}`
    const app = await appFor(page, { ...NARROW, redirectUrls: ['https://portal.example/back', long] })
    const request = await app.connectRequest('я'.repeat(255))

    await page.goto(`/connect/${request}?redirectUrl=${encodeURIComponent(long)}`)
    expect(new URL(page.url()).pathname).toBe('/login')
    await page.fill('[name=account]', 'katherine')
    await page.fill('[name=password]', PASSWORD)
    await page.click('#login button')
    await waitForAddress(page, /\/connect\//)
    await ready(page)

    expect(new URL(page.url()).pathname).toBe(`/connect/${request}`)
    expect(await page.textContent('#back')).toBe(long)
    await page.click('#connect [type=submit]')
    await waitForAddress(page, `${long}?svc-connect-status=success`)
    expect(await linksOf(app.id)).toEqual([{ user: 'я'.repeat(255), keys: false }])
  })

  test('another site can neither frame the page nor consent in its place', async () => {
    await using person = await openSettings(svc, 'donald')
    const { page } = person
    const app = await appFor(page, NARROW)
    const connectRequest = await app.connectRequest('learner 7')
    const establish = `${svc.url}${EXT_APPS}/actions/establish-connection`
    const evil = `<iframe src="${svc.url}/connect/${connectRequest}"></iframe><form method="post" action="${establish}"
      enctype="text/plain"><input name='{"connectRequest":"${connectRequest}","x":"' value='"}'><button></button></form>`
    await page.route('https://evil.example/**', (route) => route.fulfill({ contentType: 'text/html', body: evil }))

    await page.goto('https://evil.example/')
    await expect
      .poll(() => page.frames().map((frame) => frame.url()))
      .toEqual(['https://evil.example/', 'chrome-error://chromewebdata/'])
    const [answer] = await Promise.all([page.waitForResponse(establish), page.click('button')])
    expect(answer.status()).toBeGreaterThanOrEqual(400)
    // The browser's cookie, sent by the test.
    const { browser } = await signInBy(svc, 'niklaus')
    const headers = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }
    const forged = await browser.send('POST', new URL(establish).pathname, { body: { connectRequest }, headers })
    expect([forged.status, JSON.stringify(forged.body)]).toEqual([403, expect.stringContaining('csrf')])
    expect(await linksOf(app.id)).toEqual([])
  })
})
