import sharp from 'sharp'
import { expect, test } from 'vitest'
import { builtInLabels } from '../../routers/system/labels/index.ts'
import { startApp } from '../kit/app.ts'
import { openBrowser, PASSWORD } from '../kit/browser.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import {
  openAccountMenu,
  openSettings,
  PASSKEY,
  showSettings,
  signIn,
  signOut,
  waitForAddress,
  waitForSettings,
} from '../kit/web/pages.ts'

const svc = shareResource(() => startApp({ ALLOW_ACCOUNT_REMOVAL: 'true' }))

const german = (key: string) => builtInLabels.de_DE[key] ?? ''

const makePicture = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: '#369' } })
    .png()
    .toBuffer()

describeWith('chromium')('the settings', () => {
  test("are in the menu of the account and at the profile's address", async () => {
    await using chat = await openChat(svc, 'ada')
    const { page, complaints } = chat

    await openAccountMenu(page)
    await page.getByRole('menuitem', { name: 'Settings' }).click()
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor()
    await waitForAddress(page, /\/settings\/profile$/)
    await waitForSettings(page)
    await expect.poll(() => page.title()).toBe('Profile · svc')
    const nav = page.getByRole('navigation', { name: 'Sections of the settings' })
    for (const name of await nav.getByRole('link').allTextContents()) {
      const part = nav.getByRole('link', { name, exact: true })
      await part.click()
      await expect.poll(() => part.getAttribute('aria-current')).toBe('page')
      await waitForSettings(page)
    }
    await page.goBack()
    await waitForAddress(page, /\/settings\/sessions$/)
    await page.goto('/profile')
    await waitForAddress(page, /\/settings\/profile$/)

    expect((await page.request.get('/settings/nothing')).status()).toBe(404)
    expect(complaints).toEqual([])
  })

  test('an account is removed by its username and a fresh sign-in', async () => {
    await using settings = await openSettings(svc, 'una', { section: 'data' })
    const { page, id } = settings
    await svc.rows("update sessions set signed_in_at = now() - interval '1 hour' where user_id = $1", [id])
    for (const name of ['draft', 'models', 'outbox', 'waiting', 'notifications'])
      await page.evaluate(`localStorage.setItem('svc:${name}:${id}:7', '[]')`)
    await page.evaluate(`localStorage.setItem('svc:models:${id}0', '[]')`)
    // Not all browsers know the header that clears the storage.
    await page.route('**/trpc/ownAccount.remove**', async (route) => {
      const response = await route.fetch()
      const { 'clear-site-data': _, ...headers } = response.headers()
      await route.fulfill({ response, headers })
    })
    await page.getByRole('button', { name: 'Remove my account…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Remove your account' })
    await dialog.getByText('Your usage stays for bills').waitFor()
    await expectAccessible(page)
    const username = dialog.getByRole('textbox', { name: 'Write your username, una, to confirm' })
    await username.fill('someone')
    await dialog.getByRole('button', { name: 'Remove for good' }).click()
    await dialog.getByText('This is not your username.').waitFor()
    await username.fill('una')
    await dialog.getByRole('button', { name: 'Remove for good' }).click()
    const freshSignIn = page.getByRole('alertdialog', { name: 'Sign in again' })
    await freshSignIn.getByLabel('Password', { exact: true }).fill(PASSWORD)

    await freshSignIn.getByRole('button', { name: 'Sign in' }).click()

    await waitForAddress(page, /\/login$/)
    // The data that another person has stored in this browser stay.
    expect(await page.evaluate('Object.keys(localStorage)')).toEqual([`svc:models:${id}0`])
    expect(await svc.rows('select id from users where id = $1', [id])).toEqual([])
  })

  test('name and picture are changed, and shown at once', async () => {
    await using chat = await openChat(svc, 'bea')
    const { page } = chat
    const picture = await makePicture(40, 30)

    await showSettings(page)
    await page.getByLabel('Name', { exact: true }).fill('<b>Bea</b>')
    await page.setInputFiles('input[type=file]', { name: 'me.png', mimeType: 'image/png', buffer: picture })
    await page.getByText('me.png').waitFor()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()

    await page.locator('main img').waitFor()
    await expect.poll(() => page.evaluate("document.querySelector('main img').naturalWidth")).toBe(256)
    await page.getByText('me.png').waitFor({ state: 'detached' })
    const account = page.getByRole('button', { name: 'Account of <b>Bea</b>' })
    await account.getByText('<b>Bea</b>', { exact: true }).waitFor()
    await account.locator('img').waitFor()
    expect(await svc.rows("select name from users where username = 'bea'")).toEqual([{ name: '<b>Bea</b>' }])
  })

  test('what the service refuses is said in German on a German page', async () => {
    await using person = await openSettings(svc, 'anna', { locale: 'de-DE' })
    const { page } = person
    const outcome = page.locator('form [role=status]')
    const save = page.getByRole('button', { name: 'Speichern' })
    const choose = (name: string, buffer: Buffer) =>
      page.setInputFiles('input[type=file]', { name, mimeType: 'image/png', buffer })

    await choose('me.png', Buffer.from('no picture'))
    await save.click()
    await outcome.filter({ hasText: german('app.error.field.avatar') }).waitFor()
    await page.getByText('me.png').waitFor()

    await choose('big.png', Buffer.alloc(3_000_000))
    await save.click()
    await outcome.filter({ hasText: german('app.settings.avatarTooLarge') }).waitFor()

    await page.setInputFiles('input[type=file]', [])
    await page.getByLabel('Name', { exact: true }).fill('   ')
    await save.click()
    await outcome.filter({ hasText: german('app.error.field.displayName') }).waitFor()
    expect(await outcome.getAttribute('class')).toContain('error')

    await page.getByLabel('Name', { exact: true }).fill('Anna')
    await save.click()
    await outcome.filter({ hasText: german('app.settings.saved') }).waitFor()
    expect(await outcome.getAttribute('class')).not.toContain('error')
  })

  test('a saved change is confirmed until the next, and a failure alone is reported', async () => {
    await using person = await openSettings(svc, 'saving')
    const { page } = person
    const outcome = page.locator('form [role=status]')
    const save = async (bio: string, sentence: string) => {
      await page.getByLabel('About me').fill(bio)
      expect(await outcome.textContent()).toBe('')
      await page.getByRole('button', { name: 'Save' }).click()
      await outcome.filter({ hasText: sentence }).waitFor()
    }

    await save('Plays chess.', 'Saved.')
    await page.route('**/trpc/users.update*', (route) => route.abort())
    await save('Plays go.', 'The service cannot be reached.')
    await page.unroute('**/trpc/users.update*')
    await save('Plays checkers.', 'Saved.')
    await page.setInputFiles('input[type=file]', { name: 'me.png', mimeType: 'image/png', buffer: Buffer.from('none') })
    await outcome.filter({ hasNotText: /./ }).waitFor({ state: 'attached' })
  })

  test('a service out of reach, and one that fails, are told apart', async () => {
    await using person = await openSettings(svc, 'berta')
    const { page } = person
    const say = async (text: string) => {
      await page.getByRole('button', { name: 'Save' }).click()
      await page.locator('form [role=status]').filter({ hasText: text }).waitFor()
    }
    const failing = { error: { message: '', code: -32603, data: { httpStatus: 503, problem: 'unavailable' } } }

    await page.route('**/trpc/users.update*', (route) => route.abort())
    await say('The service cannot be reached.')
    await page.unroute('**/trpc/users.update*')
    await page.route('**/trpc/users.update*', (route) => route.fulfill({ status: 503, json: [failing] }))
    await say('The service is not available right now.')
    await page.unroute('**/trpc/users.update*')
    await say('Saved.')
  })

  test('a session that ends keeps the input until the person signs in again', async () => {
    await using person = await openSettings(svc, 'clara', { locale: 'de-DE', section: 'tokens' })
    const { page } = person
    await page.getByLabel('Name des Tokens').fill('laptop')
    await page.context().clearCookies()

    await page.getByRole('button', { name: 'Token erzeugen' }).click()
    const dialog = page.getByRole('alertdialog', { name: german('app.sessionEnd.title') })
    await dialog.waitFor()
    await expectAccessible(page)
    const other = await page.context().newPage()
    await signIn(other, 'clara')
    await other.close()
    await page.getByRole('button', { name: german('app.sessionEnd.done') }).click()
    await dialog.waitFor({ state: 'detached' })

    expect(await page.getByLabel('Name des Tokens').inputValue()).toBe('laptop')
    await page.getByRole('button', { name: 'Token erzeugen' }).click()
    await page
      .getByRole('status')
      .filter({ hasText: german('app.settings.tokenOnce') })
      .waitFor()
  })

  test('a session that was over beforehand leads to signing in, and from there back', async () => {
    await using person = await openSettings(svc, 'cleo', { section: 'tokens' })
    const { page } = person
    await page.context().clearCookies()

    await page.goto('/settings/tokens')
    await waitForAddress(page, /\/login\?redirectUri=/)
    await signIn(page, 'cleo')

    // The keys are locked in this browser, so it asks for the passkey first.
    await waitForAddress(page, /\/handshake\?redirectUri=%2Fsettings%2Ftokens/)
  })

  test('keys that cannot be locked are told, with a way to sign out', async () => {
    await using chat = await openChat(svc, 'dora')
    const { page } = chat
    await showSettings(page, 'security')
    await page.evaluate(`for (const name of ['open', 'deleteDatabase'])
      IDBFactory.prototype[name] = () => { throw new DOMException('Forbidden', 'SecurityError') }`)
    await page.getByRole('button', { name: 'Lock the keys in this browser' }).click()
    const alert = page.getByRole('alert')
    await alert.getByText('The keys could not be locked.').waitFor()
    expect(await alert.getByRole('link', { name: 'Sign out' }).getAttribute('href')).toBe('/logout')
  })

  test('keys that are locked are named, and can be locked again', async () => {
    await using chat = await openChat(svc, 'doris')
    const { page } = chat

    await showSettings(page, 'security')
    expect(await page.getByText('Your keys are locked').count()).toBe(0)
    await page.getByRole('button', { name: 'Lock the keys in this browser' }).click()
    await page.getByRole('main').getByText('Your keys are locked in this browser.').waitFor()
    await expectAccessible(page)
    await page.goto('/chat')
    await waitForAddress(page, /\/handshake\?redirectUri=%2Fchat/)
  })

  test('the menu of the account lists the shortcuts, and locks the keys', async () => {
    await using chat = await openChat(svc, 'dolly')
    const { page } = chat
    const account = page.getByRole('button', { name: 'Account of The dolly' })

    await openAccountMenu(page)
    await page.getByRole('menuitem', { name: 'Keyboard shortcuts' }).click()
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect.poll(() => account.evaluate((button) => button.matches(':focus'))).toBe(true)
    await openAccountMenu(page)
    await page.getByRole('menuitem', { name: 'Lock chats and rooms' }).click()

    await page.getByRole('heading', { name: 'Unlock your keys' }).waitFor()
    expect(page.url()).toContain('/handshake?redirectUri=%2Fchat')
  })

  test('people with a local account change their password, which ends other sessions', async () => {
    await using person = await openSettings(svc, 'ida', { section: 'security' })
    const { page } = person
    const other = openBrowser(svc.url)
    await other.login('ida')
    const form = page.getByRole('form', { name: 'Password' })
    const change = async (current: string, next: string, repeated: string, sentence: string) => {
      await form.getByLabel('Current password').fill(current)
      await form.getByLabel('New password', { exact: true }).fill(next)
      await form.getByLabel('Repeat the new password').fill(repeated)
      await form.getByRole('button').click()
      await form.getByRole('status').filter({ hasText: sentence }).waitFor()
    }

    await change(PASSWORD, 'a new passphrase', 'another passphrase', 'The two new passwords are not the same.')
    await change('wrong', 'a new passphrase', 'a new passphrase', 'The current password is wrong.')
    await change(PASSWORD, 'short', 'short', 'Please choose another new password')
    await change(PASSWORD, 'IDA@example.org', 'IDA@example.org', 'Please choose another new password')
    await change(PASSWORD, 'a new passphrase', 'a new passphrase', 'Your password is changed.')

    await expect.poll(() => form.getByLabel('Current password').inputValue()).toBe('')
    expect(await other.standing()).toBe('internal')
    expect((await openBrowser(svc.url).login('ida', 'a new passphrase')).status).toBe(200)
    await showSettings(page, 'sessions')
    await expect.poll(() => page.locator('main li').count()).toBe(2)
  })

  test('nobody is offered a password that the service does not keep', async () => {
    await using person = await openSettings(svc, 'jana', { section: 'security' })
    const { page } = person
    await page.getByRole('form', { name: 'Password' }).waitFor()

    await svc.services.login.localAccounts.remove('jana')
    await showSettings(page, 'security')

    await page.getByRole('form', { name: 'Recovery code' }).waitFor()
    expect(await page.getByRole('form', { name: 'Password' }).count()).toBe(0)
  })

  test('people see where they are signed in, and end one session or all others', async () => {
    await using person = await openSettings(svc, 'kora', { section: 'sessions' })
    const { page, complaints } = person
    const come = async (userAgent: string) => {
      const browser = openBrowser(svc.url)
      const body = { account: 'kora', password: PASSWORD }
      await browser.send('POST', '/req/login', {
        body,
        headers: { 'user-agent': userAgent, 'sec-fetch-site': 'same-origin' },
      })
      return browser
    }
    const phone = await come('Mozilla/5.0 (Android 15; Mobile; rv:142.0) Gecko/142.0 Firefox/142.0')
    const program = await come('curl/8.14.1')
    const lines = page.getByRole('list', { name: 'Sessions' }).getByRole('listitem')

    await showSettings(page, 'sessions')
    await lines.nth(2).waitFor()
    await expectAccessible(page)
    const [here, ...others] = (await lines.locator('strong').allTextContents()).sort()
    expect(here).toMatch(/^Chrome on \w+ \(this session\)$/)
    expect(others).toEqual(['Firefox on Android', 'Unknown browser'])
    expect(await lines.locator('p').allTextContents()).toEqual(
      Array(3).fill(expect.stringMatching(/^Since .+, last used .+/)),
    )
    expect(await lines.locator('button').count()).toBe(2)

    await page.getByRole('button', { name: 'End session: Firefox on Android' }).click()
    await lines.nth(2).waitFor({ state: 'detached' })
    expect([await phone.standing(), await program.standing()]).toEqual(['internal', 'internal_authenticated'])

    await page.getByRole('button', { name: 'End all other sessions' }).click()
    await lines.nth(1).waitFor({ state: 'detached' })
    expect(await program.standing()).toBe('internal')
    await page.getByRole('button', { name: 'End all other sessions' }).waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
    expect(complaints).toEqual([])
  })

  test('a new passphrase changes keychain and recovery code, and loses nothing', async () => {
    await using chat = await openChat(svc, 'pia')
    const { page, complaints, requests, code } = chat
    const next = 'Grüße vom roten Leuchtturm'
    const readStored = () =>
      svc.rows<{ value: string }>(
        `select k.value from user_keychain_values k join users u on u.id = k.user_id where u.username = 'pia'
          union all select b.ciphertext from passkey_backups b join users u on u.id = b.user_id where u.username = 'pia'`,
      )
    await chat.sendQuestion('A question of Pia')
    await chat.answered()
    await waitForAddress(page, /\/chat\/.+/)
    const conversation = page.url()
    const before = await readStored()

    await showSettings(page, 'security')
    const form = page.getByRole('form', { name: 'Passphrase' })
    const change = async (current: string, chosen: string, repeated = chosen) => {
      await form.getByLabel('Current passphrase').fill(current)
      await form.getByLabel('New passphrase', { exact: true }).fill(chosen)
      await form.getByLabel('Repeat the new passphrase').fill(repeated)
      await form.getByRole('button', { name: 'Change passphrase' }).click()
    }
    for (const [current, chosen, repeated, sentence] of [
      ['Wrong-Horse-7!', next, next, 'does not open your keys'],
      [PASSKEY, next, `${next}!`, 'are not the same'],
      [PASSKEY, 'kurz', 'kurz', 'at least 8 characters'],
      [PASSKEY, PASSKEY, PASSKEY, 'easy to guess'],
      [PASSKEY, 'Passwort1', 'Passwort1', 'easy to guess'],
    ] as const) {
      await change(current, chosen, repeated)
      await form.locator('.error[role=status]', { hasText: sentence }).waitFor()
    }
    await page.route('**/trpc/keychain.changePasskey**', (route) => route.abort(), { times: 1 })
    await change(PASSKEY, next)
    await form.locator('.error[role=status]', { hasText: 'cannot be reached' }).waitFor()
    expect(await readStored()).toEqual(before)

    await form.getByRole('button', { name: 'Show' }).nth(1).click()
    await change(PASSKEY, next)
    await form.getByText('Your passphrase is changed.').waitFor()
    // The next passphrase is hidden again.
    await expect.poll(() => form.locator('input[type=text]').count()).toBe(0)
    const newCode = (await form.locator('output').textContent()) ?? ''
    await expectAccessible(page)
    const isRead = async () => {
      await page.goto(conversation)
      await page.getByRole('article').filter({ hasText: 'A question of Pia' }).first().waitFor()
    }
    await isRead()

    await signOut(page)
    await signIn(page, 'pia')
    await page.goto('/handshake')
    const unlock = async (passphrase: string) => {
      await page.fill('[name=passkey]', passphrase)
      await page.click('#unlock [type=submit]')
    }
    await unlock(PASSKEY)
    await page.waitForSelector('#unlock .error[role=status]')
    await page.click('summary')
    for (const [entered, outcome] of [
      [code, 'does not open the backup'],
      [newCode, 'Your keys are unlocked'],
    ] as const) {
      await page.fill('[name=code]', entered)
      await page.click('#recover button')
      await page.getByRole('status').filter({ hasText: outcome }).waitFor()
    }
    expect(await page.textContent('#recovered output')).toBe(next)
    await isRead()
    for (const secret of [PASSKEY, next, newCode])
      expect(requests.filter(({ url, body }) => `${url} ${body}`.includes(secret))).toEqual([])
    expect(complaints.filter((complaint) => !complaint.includes('ERR_FAILED'))).toEqual([])
  })

  test('signing out everywhere asks first, and deletes the keys in this browser', async () => {
    await using chat = await openChat(svc, 'lore')
    const { page } = chat
    const other = openBrowser(svc.url)
    await other.login('lore')

    await showSettings(page, 'sessions')
    await page.getByRole('button', { name: 'Sign out everywhere' }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Sign out everywhere?' })
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Sign out everywhere' }).click()
    await waitForAddress(page, /\/login$/)

    expect(await other.standing()).toBe('internal')
    await signIn(page, 'lore')
    await waitForAddress(page, /\/handshake$/)
  })

  test('signing out in one tab reloads the other tabs', async () => {
    await using person = await openSettings(svc, 'mila')
    const { page } = person
    await signOut(await page.context().newPage())
    await waitForAddress(page, /\/login\?redirectUri=/)
  })

  test('a tab reloads when it is shown and somebody else has signed in', async () => {
    await using person = await openSettings(svc, 'nils')
    await using other = await openSettings(svc, 'otto')
    const { page } = person
    await page.context().addCookies(await other.page.context().cookies())
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    await page.getByText('The otto').first().waitFor()
  })

  test('the language changes the page at once, and stays', async () => {
    await using person = await openSettings(svc, 'mara', { section: 'appearance' })
    const { page } = person

    await svc.rows(
      `insert into usage_records (request_id, user_id, model, provider, input_tokens, output_tokens, context, outcome, duration_ms, created_at)
       values ('r', $1, 'm', 'p', 1200, 340, 'api', 'completed', 10, now())`,
      [person.id],
    )
    const shown = async () => {
      await showSettings(page, 'usage')
      const usage = await page.textContent('main section')
      await showSettings(page, 'sessions')
      return `${usage} ${await page.textContent('main ul')}`
    }
    await expect.poll(shown).toMatch(/1,540.*\d{1,2}\/\d{1,2}\/\d{4}/)
    await showSettings(page, 'appearance')
    await page.getByRole('radio', { name: 'Deutsch' }).click()
    await page.getByRole('heading', { name: 'Einstellungen' }).waitFor()

    // Numbers and dates are written in the language of the page, whatever that of the browser is.
    await expect.poll(shown).toMatch(/1\.540.*\d{1,2}\.\d{1,2}\.\d{4}/)
    await page.goto('/settings/tokens?lang=en')
    await page.getByRole('heading', { name: 'Settings' }).waitFor()
    await page.goto('/settings/tokens')
    await page.getByRole('heading', { name: 'Einstellungen' }).waitFor()
  })

  test('the colours change the page at once, and those before the sign-in too', async () => {
    await using person = await openSettings(svc, 'nora', { colorScheme: 'light', section: 'appearance' })
    const { page } = person
    const ground = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const light = await ground()

    await page.getByRole('radio', { name: 'Dark' }).click()
    await expect.poll(ground).not.toBe(light)
    await page.goto('/logout')
    await expect.poll(() => page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('dark')
    await showSettings(page, 'appearance')
    await expect.poll(() => page.getByRole('radio', { name: 'Dark' }).isChecked()).toBe(true)
    await page.getByRole('radio', { name: 'Same as the system' }).click()
    await expect.poll(ground).toBe(light)
    await page.reload()
    await waitForSettings(page)
    await expect.poll(ground).toBe(light)
  })
})
