import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { sections } from '../../facades/web/app/admin/sections.ts'
import { builtInLabels } from '../../routers/system/labels/index.ts'
import { startApp } from '../kit/app.ts'
import { addAccount, openBrowser, PASSWORD } from '../kit/browser.ts'
import { runCommand } from '../kit/command-line.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { ageSessions, expectFitting, openAdmin, showAdmin, waitForAdmin } from '../kit/web/admin.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { openSettings, showSettings, waitForAddress } from '../kit/web/pages.ts'

const svc = shareResource(() => startApp({ ALLOW_USER_TOKEN_CREATION: 'true' }))

const { de_DE: german, en_US: english } = builtInLabels

/** Runs a command of the host over the service's own database. */
const command = (...argv: string[]) =>
  runCommand(argv, { env: { DATABASE_URL: String(svc.env.DATABASE_URL), DATA_DIR: svc.folder, DATABASE_POOL: '2' } })

describeWith('chromium')('people in the administration', () => {
  test('whoever is no administrator sees no entry, finds no page and reads nothing', async () => {
    await using person = await openSettings(svc, 'paul')
    const { page, requests } = person
    expect(await page.getByRole('link', { name: 'Admin', exact: true }).count()).toBe(0)
    requests.length = 0

    await page.goto('/admin/people')
    await page.getByRole('heading', { name: 'Page not found' }).waitFor()
    await expectAccessible(page)

    expect(
      requests.filter(({ url }) => /users\.search|admin-page/.test(decodeURIComponent(url)) && url.includes('/trpc')),
    ).toEqual([])
    const answers = await page.evaluate(async () => {
      const names = ['users.search', 'audit.verify', 'settings.list', 'limits.list', 'mcp.servers', 'models.list']
      return Promise.all(names.map(async (name) => (await fetch(`/trpc/${name}`)).status))
    })
    expect(answers).toEqual(Array(6).fill(403))
  })

  test('administrators search, choose, order and page through people, all by the address', async () => {
    await svc.rows(
      `insert into users (username, name, email, groups, created_at, updated_at)
       select 'many' || n, 'Many ' || n, 'many' || n || '@example.org', array['crowd'], now(), now() from generate_series(1, 10000) n`,
    )
    await using admin = await openAdmin(svc, 'anna')
    const { page, complaints } = admin
    const rows = page.locator('main tbody tr')

    await expect.poll(() => rows.count()).toBe(50)
    const filters = await page.getByRole('search').locator('input, select').all()
    const boxes = await Promise.all(filters.map((filter) => filter.boundingBox()))
    expect(new Set(boxes.map((box) => box?.y)).size).toBe(1)
    await page.getByRole('button', { name: 'Next' }).click()
    await waitForAddress(page, /page=2/)
    await page.getByRole('searchbox', { name: 'Name, username or e-mail' }).fill('many777')
    await expect.poll(() => rows.count()).toBe(11)
    expect(page.url()).toMatch(/q=many777/)
    expect(page.url()).not.toMatch(/page=/)
    await svc.rows("update users set email = 'm' || repeat('any', 20) || '@example.org' where username = 'many777'")
    await page.reload()
    await expect.poll(() => rows.count()).toBe(11)
    await page.getByTitle(/^manyany/).waitFor()
    const heights = (await Promise.all((await rows.all()).map((row) => row.boundingBox()))).map((box) => box?.height)
    expect(new Set(heights).size).toBe(1)
    await page.getByLabel('State').selectOption('disabled')
    await page.getByText('Nobody matches this choice.').waitFor()
    await page.getByLabel('State').selectOption('')
    await svc.rows("update users set subject = 'oidc:https://id.example.org ' || id where username = 'many777'")
    await page.getByLabel('Source').selectOption('oidc')
    await expect.poll(() => rows.count()).toBe(1)
    await page.getByLabel('Source').selectOption('')
    await page.getByRole('button', { name: 'Last sign-in' }).click()
    await waitForAddress(page, /sort=signedInAt/)

    await svc.rows("update users set name = 'Anna;=1+1' where username = 'many777'")
    await page.getByRole('searchbox', { name: 'Name, username or e-mail' }).fill('')
    await page.getByRole('textbox', { name: 'Group' }).fill('crowd')
    await waitForAddress(page, /group=crowd/)
    await expect.poll(() => rows.count()).toBe(50)
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ])
    const lines = (await readFile((await file.path())!, 'utf8')).trim().split('\r\n')
    expect(lines.length).toBe(10_001)
    expect(lines.find((line) => line.startsWith('many777,'))).toContain(`"Anna;'=1+1"`)
    expect(lines[0]).toBe('Username,Name,Role,Groups,Source,Last sign-in,State')
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  test('what an administrator typed outlasts the question for a new sign-in', async () => {
    await using admin = await openAdmin(svc, 'berta', { locale: 'de-DE' })
    const { page, requests } = admin
    const { id } = await addAccount(svc, 'walter')
    await showAdmin(page, `people/${id}`)
    await expectFitting(page, 'person')
    await ageSessions(svc)

    await page.getByRole('button', { name: german['app.admin.changeGroups']! }).click()
    await page.getByRole('textbox', { name: 'Gruppen' }).fill('staff, council')
    await page.keyboard.press('Enter')
    const question = page.getByRole('alertdialog', { name: 'Erneut anmelden' })
    await question.waitFor()
    await expectFitting(page, 'fresh')
    await question.getByLabel('Passwort').fill('wrong')
    await page.keyboard.press('Enter')
    await question.getByRole('alert').waitFor()
    await question.getByLabel('Passwort').fill(PASSWORD)
    await page.keyboard.press('Enter')

    await question.waitFor({ state: 'detached' })
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('staff, council').waitFor()
    // A wrong password is no end of the session, whose dialog would cover the question.
    expect(requests.filter(({ url }) => url.includes('session-end-dialog'))).toEqual([])
    expect(await svc.rows('select groups from users where id = $1', [id])).toEqual([{ groups: ['staff', 'council'] }])

    // A refusal is in the language of the page, with the label of the field.
    await page.getByRole('button', { name: german['app.admin.changeGroups']! }).click()
    await page.getByRole('textbox', { name: 'Gruppen' }).fill('x'.repeat(300))
    await page.keyboard.press('Enter')
    await page.getByText('Der Dienst lehnt das ab: Gruppen: darf höchstens 200 Zeichen haben').waitFor()
  })

  test('a change waits for a sign-in elsewhere that takes several returns', async () => {
    await using admin = await openAdmin(svc, 'bruno')
    const { page } = admin
    await page.route('**/trpc/**pages.visit**', async (route) => {
      const response = await route.fetch()
      const body = await response.text()
      await route.fulfill({ response, body: body.replace('"elsewhere":false', '"elsewhere":true') })
    })
    const { id } = await addAccount(svc, 'wilma')
    await showAdmin(page, `people/${id}`)
    await ageSessions(svc)
    await page.getByRole('button', { name: english['app.admin.changeGroups']! }).click()
    await page.getByRole('textbox', { name: 'Groups' }).fill('staff')
    await page.keyboard.press('Enter')

    const question = page.getByRole('alertdialog')
    const opened = page.waitForEvent('popup')
    await question.getByRole('link').click()
    await (await opened).close()
    const returnToPage = () => page.evaluate("dispatchEvent(new Event('focus'))")
    const refused = page.waitForResponse((response) => response.status() === 403)
    await returnToPage()
    await refused
    await question.waitFor()
    await svc.rows('update sessions set signed_in_at = now()')
    await expect
      .poll(async () => {
        await returnToPage()
        return question.count()
      })
      .toBe(0)
    await page.getByText('staff', { exact: true }).waitFor()
  })

  test('a person is added, disabled, enabled and removed after what is lost was named', async () => {
    await using admin = await openAdmin(svc, 'clara')
    const { page } = admin
    await page.getByRole('button', { name: 'Add person' }).click()
    await page.getByRole('textbox', { name: 'Username' }).fill('isaac-newton')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Isaac Newton')
    await page.getByRole('textbox', { name: 'E-mail address' }).fill('newton@example.org')
    await page.getByLabel('Password', { exact: true }).fill('a good passphrase')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await openBrowser(svc.url).login('isaac-newton', 'a good passphrase')).status).toBe(200)

    await page.getByRole('searchbox', { name: 'Name, username or e-mail' }).fill('isaac-newton')
    await page.getByRole('link', { name: 'isaac-newton', exact: true }).click()
    await page.getByRole('heading', { name: 'Isaac Newton' }).waitFor()
    await waitForAdmin(page)
    const act = async (name: string) => {
      await page.getByRole('button', { name, exact: true }).click()
      await page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    await act('Disable')
    await page.getByText('Disabled', { exact: true }).waitFor()
    expect((await openBrowser(svc.url).login('isaac-newton', 'a good passphrase')).status).toBe(403)
    await act('Enable')
    await page.getByText('Has no keys yet').waitFor()

    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: 'Remove Isaac Newton for good?' })
    await dialog.getByText('nobody can bring them back').waitFor()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    expect(await dialog.count()).toBe(1)
    await dialog.getByLabel('Type isaac-newton to confirm').fill('isaac')
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await dialog.getByText('This is another name.').waitFor()
    await dialog.getByLabel('Type isaac-newton to confirm').fill('isaac-newton')
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await waitForAddress(page, /\/admin\/people$/)
    expect(await svc.rows("select id from users where username = 'isaac-newton'")).toEqual([])
  })

  test('a person is found, opened and given other groups by the keyboard alone', async () => {
    await using admin = await openAdmin(svc, 'kira')
    const { page } = admin
    const { id } = await addAccount(svc, 'keyes')
    const focused = () =>
      page.evaluate(`(() => {
      const { activeElement: it } = document
      return it.getAttribute('aria-label') ?? it.labels?.[0]?.textContent ?? it.textContent.trim()
    })()`)
    /** Presses Tab until an element of this name has the focus. */
    const tabTo = async (name: string) => {
      for (let pressed = 0; pressed < 80 && (await focused()) !== name; pressed++) await page.keyboard.press('Tab')
      expect(await focused()).toBe(name)
    }
    await page.reload()
    await waitForAdmin(page)

    await tabTo('Name, username or e-mail')
    await page.keyboard.type('keyes')
    await waitForAddress(page, /q=keyes/)
    await expect.poll(() => page.locator('main tbody tr').count()).toBe(1)
    await tabTo('keyes')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'The keyes' }).waitFor()
    await waitForAdmin(page)
    await tabTo('Change groups')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await tabTo('Groups')
    await page.keyboard.type('library')
    await tabTo('Save')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await expect.poll(focused).toBe('Change groups')
    expect(await svc.rows('select groups from users where id = $1', [id])).toEqual([{ groups: ['library'] }])
  })

  test('the tokens of a person are shown, and revoked one by one', async () => {
    await using admin = await openAdmin(svc, 'dora')
    const { page } = admin
    const { id } = await addAccount(svc, 'tilda')
    await showAdmin(page, `people/${id}`)
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('This person has no tokens.').waitFor()
    expect(await svc.rows('select id from access_tokens where user_id = $1', [id])).toEqual([])
  })

  test('a leaked token is found and revoked, and only its id leaves the page', async () => {
    await using admin = await openAdmin(svc, 'dina', { path: 'tokens' })
    const { page, requests } = admin
    const { id, token } = await addAccount(svc, 'tamara')
    const find = async (text: string) => {
      await page.getByRole('textbox', { name: 'Token or its beginning' }).fill(text)
      await page.getByRole('button', { name: 'Find token', exact: true }).click()
    }
    requests.length = 0

    await find('ghp_0123456789')
    await page.getByText('This is not a token of this service.').waitFor()
    expect(requests.filter(({ url }) => url.includes('/trpc'))).toEqual([])
    await find(token)
    await page.getByRole('link', { name: 'tamara' }).waitFor()
    await page.getByText('asking models, reading your profile, reading data').waitFor()
    await expect.poll(() => page.getByRole('textbox', { name: 'Token or its beginning' }).inputValue()).toBe('')
    await expectAccessible(page)

    await ageSessions(svc)
    await page.getByRole('button', { name: 'Revoke' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('The token is revoked.').waitFor()
    expect(await svc.rows('select id from access_tokens where user_id = $1', [id])).toEqual([])
    await find(token)
    await page.getByText('There is no token with the id').waitFor()

    const secret = token.slice(-46)
    expect(JSON.stringify(requests)).not.toContain(secret)
    expect(await page.content()).not.toContain(secret)
    expect(JSON.stringify(await svc.rows('select * from audit_entries'))).not.toContain(secret)
    expect(svc.log.join()).not.toContain(secret)
  })

  test('finding a token is looked at in German, narrow and wide, in both schemes', async () => {
    await using admin = await openAdmin(svc, 'greta', { locale: 'de-DE', path: 'tokens' })
    const { page } = admin
    const { token } = await addAccount(svc, 'tatjana')
    await page.getByRole('textbox', { name: 'Token oder sein Anfang' }).fill(token)
    await page.getByRole('button', { name: 'Token finden', exact: true }).click()
    await page.getByRole('link', { name: 'tatjana' }).waitFor()
    await expectFitting(page, 'tokens')
  })

  test('the audit log is filtered by the address, and verified', async () => {
    await using admin = await openAdmin(svc, 'emma')
    const { page } = admin
    const { id } = await addAccount(svc, 'victor')
    await page.evaluate(async (id) => {
      const body = JSON.stringify({ user: { id }, groups: ['seen'] })
      const headers = { 'content-type': 'application/json' }
      await fetch('/trpc/admin.setGroups', { method: 'POST', headers, body })
    }, id)

    await showAdmin(page, `audit?act=admin.setGroups&subject=user:${id}`)
    await expect.poll(() => page.locator('main tbody tr').count()).toBe(1)
    await page.getByText('Details').click()
    await page.locator('pre').getByText('seen').waitFor()
    await page.getByRole('button', { name: 'Verify' }).click()
    await page.getByText(/Complete and unchanged/).waitFor()
    await expectFitting(page, 'audit')
  })

  test('changes of the command line appear at once, but not in hidden tabs', async () => {
    await using admin = await openAdmin(svc, 'frida')
    const { page: hidden, requests } = admin
    const { id } = await addAccount(svc, 'linus')
    await showAdmin(hidden, `people/${id}`)
    const page = await hidden.context().newPage()
    await showAdmin(page, `people/${id}`)
    await hidden.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    requests.length = 0

    await command('set-groups', '--username', 'linus', '--groups', 'library')
    await page.getByText('library').waitFor()
    await command('rename-user', '--username', 'linus', '--to', 'linus2')
    await page.getByText('linus2').first().waitFor()
    expect(requests.filter(({ url }) => url.includes('users.show'))).toEqual([])

    await hidden.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    await hidden.getByText('library').waitFor()
  })

  test('the administration adds less than 70 KiB of scripts to the first view', async () => {
    await using admin = await openAdmin(svc, 'gisa', { path: 'people' })
    const { page, requests } = admin
    const sizes = new Map<string, number>()
    page.on('requestfinished', async (request) => {
      if (!/\/assets\/app\/.*\.js$/.test(request.url())) return
      sizes.set(request.url(), (await request.sizes()).responseBodySize)
    })
    await (await page.context().newCDPSession(page)).send('Network.clearBrowserCache')
    requests.length = 0
    await showSettings(page)
    // Some of them may still be on their way.
    const first = new Set(requests.map(({ url }) => url))
    await page.getByRole('link', { name: 'Admin', exact: true }).click()
    for (const name of Object.values(sections)) {
      await page
        .getByRole('navigation', { name: 'Admin' })
        .getByRole('link', { name: english[name]!, exact: true })
        .click()
      await waitForAdmin(page)
    }
    const further = [...sizes].filter(([url]) => !first.has(url))
    expect(further.length).toBeGreaterThan(5)
    expect(further.reduce((sum, [, size]) => sum + size, 0)).toBeLessThan(70 * 1024)
  })

  test('people are looked at in German, narrow and wide, in both schemes', async () => {
    await using admin = await openAdmin(svc, 'gerda', { locale: 'de-DE' })
    await expectFitting(admin.page, 'people')
  })
})
