import { describe, expect, test } from 'vitest'
import * as web from '../../facades/web/browser/crypto.ts'
import { startApp } from '../kit/app.ts'
import { signIn as signInBy } from '../kit/browser.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { injectKeyPair } from '../kit/web/crypto.ts'
import {
  makeKeys,
  PASSKEY,
  registerByReference,
  showSettings,
  signIn,
  signOut,
  startWithNewcomer,
  waitForAddress,
} from '../kit/web/pages.ts'

describeWith('chromium')('in a real browser', () => {
  test('somebody comes from the first sign-in to their chats, and stays known', async () => {
    await using svc = await startWithNewcomer()
    await using chromium = await openPage(svc.url)
    const { page, requests, complaints } = chromium

    await page.goto('/chat')
    expect(page.url()).toContain('/login')
    await expectAccessible(page)
    await signIn(page)
    expect(page.url()).toContain('/register')
    await expectAccessible(page)
    await page.getByRole('link', { name: 'I agree' }).click()
    await waitForAddress(page, /handshake/)
    await expectAccessible(page)
    const code = await makeKeys(page, { isGiven: false })
    expect(await page.textContent('h1')).toBe('Your recovery code')
    await expectAccessible(page)
    await page.click('#kept a')
    await waitForAddress(page, /chat/)
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    await expectAccessible(page)
    await showSettings(page)

    expect(code).toMatch(/^[0-9a-f]{4}(-[0-9a-f]{4}){3}$/)
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('The ada')
    expect(await page.getByText('Your keys are locked').count()).toBe(0)
    await expectAccessible(page)
    expect(await svc.rows('select username, length(public_key) as key from users where id > 1')).toEqual([
      { username: 'ada', key: 736 },
    ])
    expect(requests.filter(({ url }) => !url.startsWith(svc.url) && !url.startsWith('data:'))).toEqual([])
    expect(requests.filter(({ url, body }) => `${url} ${body}`.includes(PASSKEY) || body.includes(code))).toEqual([])
    expect(complaints).toEqual([])
  })

  test('Enter before the service has answered is kept and done', async () => {
    await using svc = await startWithNewcomer()
    await using chromium = await openPage(svc.url)
    const { page } = chromium
    const scripts = Promise.withResolvers<void>()
    await page.route('**/assets/app/*.js', async (route) => {
      await scripts.promise
      await route.continue()
    })
    await page.goto('/login', { waitUntil: 'commit' })
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.locator('main form').count()).toBe(0)
    scripts.resolve()
    await signIn(page)
    await makeKeys(page)
    const connection = Promise.withResolvers<void>()
    await page.route('**/trpc/connections.get**', async (route) => {
      await connection.promise
      await route.continue()
    })

    await page.goto('/handshake')
    await page.fill('[name=passkey]', PASSKEY)
    await page.press('[name=passkey]', 'Enter')
    await page.locator('#unlock[aria-busy=true]').waitFor()
    connection.resolve()

    await waitForAddress(page, /chat/)
  })

  test('the keys stay locked until the right passkey is entered', async () => {
    await using svc = await startWithNewcomer()
    await using chromium = await openPage(svc.url)
    const { page } = chromium
    await signIn(page)
    await makeKeys(page)
    await signOut(page)

    await signIn(page)
    await showSettings(page)
    await page.getByRole('main').getByRole('link', { name: 'Unlock keys' }).click()
    await waitForAddress(page, /handshake\?redirectUri=%2Fsettings%2Fprofile/)
    await page.goto('/handshake')
    await expectAccessible(page)
    await page.fill('[name=passkey]', 'Another-Horse-7!')
    await page.click('#unlock [type=submit]')
    await page.waitForSelector('#unlock .error[role=status]')
    await page.fill('[name=passkey]', PASSKEY)
    await page.click('#unlock [type=submit]')
    await waitForAddress(page, /chat/)
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    await expectAccessible(page)
    await showSettings(page)

    expect(await page.getByText('Your keys are locked').count()).toBe(0)
  })

  test("a keychain in the reference's form opens, and is wrapped more strongly then", async () => {
    await using svc = await startWithNewcomer()
    await using chromium = await openPage(svc.url)
    const { page, requests, complaints } = chromium
    const { passkey, backupCode } = await registerByReference(svc, 'ada')
    const readKeychain = () =>
      svc.rows<{ key: string; value: string }>('select key, value from user_keychain_values order by id')
    const before = await readKeychain()

    await signIn(page)
    await page.goto('/handshake')
    await page.fill('[name=passkey]', passkey)
    await page.click('#unlock [type=submit]')
    await waitForAddress(page, /chat/)
    await page.getByRole('textbox', { name: 'Message' }).waitFor()

    const after = await readKeychain()
    expect(before.map(({ value }) => web.readWrapping(value))).toEqual(['', '', ''])
    expect(after.map(({ key }) => key)).toEqual(before.map(({ key }) => key))
    const [wrapping = '', ...others] = new Set(after.map(({ value }) => web.readWrapping(value)))
    expect([web.hasForm(wrapping, 'salted'), others]).toEqual([true, []])
    expect(requests.filter(({ url, body }) => `${url} ${body}`.includes(passkey))).toEqual([])

    await using elsewhere = await openPage(svc.url)
    await signIn(elsewhere.page)
    await elsewhere.page.goto('/handshake')
    await elsewhere.page.click('summary')
    await elsewhere.page.fill('[name=code]', backupCode)
    await elsewhere.page.click('#recover button')
    await elsewhere.page.locator('#recovered').filter({ hasText: passkey }).waitFor()
    await elsewhere.page.getByRole('link', { name: 'Continue' }).click()
    await elsewhere.page.getByRole('textbox', { name: 'Message' }).waitFor()
    expect(await readKeychain()).toEqual(after)
    await svc.rows(
      `update user_keychain_values v set value = b.value
         from jsonb_to_recordset($1::jsonb) b(key text, value text) where v.key = b.key`,
      [JSON.stringify(before)],
    )
    await page.goto('/chat')
    await waitForAddress(page, /handshake/)
    await page.fill('[name=passkey]', passkey)
    await page.click('#unlock [type=submit]')
    await waitForAddress(page, /chat/)
    // React reports the locked keys, which lead to the page for the passphrase.
    expect(complaints.filter((complaint) => !complaint.startsWith('KeysLocked'))).toEqual([])
  })

  test('the recovery code gives the passkey back, and a renewed one takes its place', async () => {
    await using svc = await startWithNewcomer()
    await using chromium = await openPage(svc.url)
    const { page } = chromium
    await signIn(page)
    const first = await makeKeys(page)

    const recover = async (code: string) => {
      await page.goto('/handshake')
      await page.click('summary')
      await page.fill('[name=code]', code)
      await page.click('#recover button')
    }
    const readPassphrase = () => page.textContent('#recovered output')
    await recover(first)
    expect(await readPassphrase()).toBe(PASSKEY)
    expect(await page.getByRole('main').getByRole('link').allTextContents()).toEqual(['Continue'])
    expect(await page.getByRole('main').getByRole('button').allTextContents()).toEqual([''])
    expect(await page.locator('form, details').filter({ visible: true }).count()).toBe(1)
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Continue' }).click()
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    await showSettings(page, 'security')
    const form = page.getByRole('form', { name: 'Recovery code' })
    await form.getByLabel('Passphrase', { exact: true }).fill(`${PASSKEY}?`)
    await form.getByRole('button', { name: 'Make a new code' }).click()
    await form.getByText('This passphrase does not open your keys.').waitFor()
    await form.getByLabel('Passphrase', { exact: true }).fill(PASSKEY)
    await form.getByRole('button', { name: 'Make a new code' }).click()
    const second = (await form.locator('output').textContent()) ?? ''

    expect(second).not.toBe(first)
    await recover(first)
    await page.locator('#recover .error[role=status]').waitFor()
    await recover(second)
    expect(await readPassphrase()).toBe(PASSKEY)
  })

  test('who has lost both may start anew, with a fresh sign-in', async () => {
    await using svc = await startWithNewcomer()
    await using chromium = await openPage(svc.url)
    const { page } = chromium
    await signIn(page)
    await makeKeys(page)

    await page.goto('/handshake')
    await page.click('summary')
    await page.click('#reset button')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete my keys' }).click()
    await waitForAddress(page, /register/)
    await makeKeys(page, { passkey: 'Quite-Another-8' })

    expect(await svc.rows('select count(*)::int as entries from user_keychain_values')).toEqual([{ entries: 3 }])
  })

  test.for([
    ['is pasted into its fields', 'true', PASSKEY, 0],
    ['is typed into its fields, not pasted, and a sentence says so,', 'false', '', 1],
  ] as const)('a passkey %s where the setting wants that', async ([, setting, pasted, sentences]) => {
    await using svc = await startWithNewcomer({ APP_SECURITY_PASSKEY_ALLOW_PASTE: setting })
    await using chromium = await openPage(svc.url, { permissions: ['clipboard-read', 'clipboard-write'] })
    const { page, complaints } = chromium
    const tryToPaste = async (selector: string) => {
      await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(PASSKEY)})`)
      await page.locator(selector).press('Control+V')
      return page.inputValue(selector)
    }
    await injectKeyPair(page)
    await signIn(page)

    await page.goto('/handshake')
    await page.locator('#handshake [type=submit]').waitFor()
    expect([await tryToPaste('[name=passkey]'), await tryToPaste('[name=repeat]')]).toEqual([pasted, pasted])
    expect(await page.getByText('pasting is switched off').count()).toBe(sentences)
    await page.fill('[name=passkey]', '')
    await page.fill('[name=repeat]', '')
    await page.locator('[name=passkey]').pressSequentially(PASSKEY)
    await page.locator('[name=repeat]').pressSequentially(PASSKEY)
    await page.click('#handshake [type=submit]')
    await page.waitForSelector('#kept')

    await page.goto('/handshake')
    await page.locator('#unlock [type=submit]').waitFor()
    expect(await tryToPaste('[name=passkey]')).toBe(pasted)
    await page.click('summary')
    expect(await tryToPaste('[name=code]')).toBe(PASSKEY)
    await showSettings(page, 'security')
    expect(await tryToPaste('[name=passkey]')).toBe(pasted)
    expect(await tryToPaste('[name=nextPasskey]')).toBe(pasted)
    expect(await page.getByText('pasting is switched off').count()).toBe(2 * sentences)
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  test('a passkey cannot be dropped where pasting is forbidden', async () => {
    await using svc = await startWithNewcomer({ APP_SECURITY_PASSKEY_ALLOW_PASTE: 'false' })
    await using chromium = await openPage(svc.url)
    const { page } = chromium
    await signIn(page)
    await page.goto('/handshake')
    await page.locator('#handshake [type=submit]').waitFor()

    const dragTo = async (selector: string) => {
      const hint = page.locator('#handshake .hint', { hasText: 'at least 8' })
      await hint.click({ clickCount: 3 })
      await hint.hover({ position: { x: 20, y: 8 } })
      await page.mouse.down()
      await page.locator(selector).hover()
      await page.locator(selector).hover({ position: { x: 30, y: 10 } })
      await page.mouse.up()
      return page.inputValue(selector)
    }
    expect(await dragTo('[name=repeat]')).toBe('')
    await page.evaluate("document.querySelector('[name=repeat]').replaceWith(document.createElement('textarea'))")
    expect(await dragTo('textarea')).toContain('at least 8')
  })

  test("the pages follow the browser's language and colours, and fit a phone", async () => {
    await using svc = await startWithNewcomer()
    await using chromium = await openPage(svc.url, {
      locale: 'de-DE',
      colorScheme: 'dark',
      viewport: { width: 360, height: 740 },
    })
    const { page } = chromium

    await signIn(page)
    const title = await page.textContent('h1')
    await makeKeys(page)
    await showSettings(page)

    expect(title).toBe('Willkommen')
    expect(await page.textContent('h1')).toBe('Einstellungen')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    await expectAccessible(page)
  })
})

describe('the pages', () => {
  test('a form that needs a script says so, and changes the language', async () => {
    await using svc = await startWithNewcomer()
    const { browser } = await signInBy(svc, 'bea', { known: false })
    const navigation = { accept: 'text/html', 'sec-fetch-site': 'same-origin' }

    for (const path of ['/register', '/handshake?lang=en_US', '/logout']) {
      const { text } = await browser.send('GET', path, { headers: { 'sec-fetch-site': 'none' } })
      expect([path, text.match(/<noscript>.*?<\/noscript>/)?.[0]]).toEqual([
        path,
        expect.stringContaining('JavaScript'),
      ])
      expect([path, text.match(/<form[^>]*>/g)]).toEqual([path, [expect.stringContaining('"/req/changeLanguage"')]])
    }
    const form = { inputLang: 'de_DE', redirectUri: '/handshake?a=1' }
    const { status, headers } = await browser.send('POST', '/req/changeLanguage', { headers: navigation, form })
    const foreign = { ...form, redirectUri: '//evil.example' }
    const refused = await browser.send('POST', '/req/changeLanguage', { headers: navigation, form: foreign })

    expect([status, headers.get('location')]).toEqual([303, '/handshake?a=1'])
    expect([refused.status, refused.headers.get('location')]).toEqual([303, '/'])
    expect((await browser.send('GET', '/handshake')).text).toContain('<html lang="de"')
  })

  test('the pages send everybody to where they belong', async () => {
    await using svc = await startApp()

    for (const path of ['/register', '/handshake', '/logout']) {
      const answer = await fetch(svc.url + path, { redirect: 'manual' })
      expect([path, answer.status, answer.headers.get('location')]).toEqual([path, 302, '/login'])
    }
  })

  test('the pages run nothing that stands in them, and nothing from elsewhere', async () => {
    await using svc = await startApp()

    const answer = await fetch(`${svc.url}/login?error=%3Cscript%3E`)
    const text = (await answer.text()).replaceAll(svc.url, '')

    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'")
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(text).not.toMatch(/<script(?! type="module" src="\/assets\/)|\sstyle=|\son\w+=|https?:\/\//)
  })
})
