import { expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { openSettings, showSettings, waitForSettings } from '../kit/web/pages.ts'

const svc = shareResource(startApp)

describeWith('chromium')('the tokens in the settings', () => {
  test('a new token is shown once in a working request beside the documentation', async () => {
    await using person = await openSettings(svc, 'ada', { section: 'tokens' })
    const { page, complaints } = person
    await page.getByLabel('Name of the token').fill('laptop')
    await page.getByLabel(`Programs may also call tools with it, at ${svc.url}/mcp`).check()
    await page.getByRole('button', { name: 'Create token' }).click()
    const token = await page.locator('output').first().textContent()
    await page.getByText('Allows: asking models, reading your profile, reading data, calling tools').waitFor()
    const request = (await page.getByLabel('First request', { exact: true }).textContent()) ?? ''
    await expectAccessible(page)

    const [, address = '', body = ''] = /^curl (\S+) [\s\S]*-d '(.*)'$/.exec(request) ?? []
    const answer = await fetch(address, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body,
    })
    expect([answer.status, await answer.json()]).toEqual([200, expect.objectContaining({ object: 'chat.completion' })])
    expect(request).toContain(`Bearer ${token}`)
    expect(await page.getByRole('link', { name: 'API documentation' }).getAttribute('href')).toBe('/docs')
    await page.reload()
    await waitForSettings(page)
    expect(await page.locator('output').count()).toBe(0)
    expect(complaints).toEqual([])
  })

  test('revoking a token asks first, by keyboard, too', async () => {
    await using person = await openSettings(svc, 'emma', { section: 'tokens' })
    const { page, requests } = person
    const dialog = page.getByRole('alertdialog', { name: 'Revoke the token “laptop”?' })
    const focused = () => page.evaluate('document.activeElement.textContent.trim()')
    const revocations = () => requests.filter(({ url }) => url.includes('/tokens.revoke'))
    await page.getByLabel('Name of the token').fill('laptop')
    await page.getByRole('button', { name: 'Create token' }).click()
    const token = await page.locator('output').first().textContent()
    const revoke = page.getByRole('button', { name: 'Revoke: laptop' })
    await revoke.waitFor()

    await revoke.press('Enter')
    await dialog.waitFor()
    await expectAccessible(page)
    await expect.poll(focused).toBe('Cancel')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(focused).toBe('Revoke')

    await revoke.press('Enter')
    await expect.poll(focused).toBe('Cancel')
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    expect(revocations()).toEqual([])

    await revoke.press('Enter')
    await expect.poll(focused).toBe('Cancel')
    await page.keyboard.press('Tab')
    await expect.poll(focused).toBe('Revoke')
    await page.keyboard.press('Enter')
    await page.getByText('The token “laptop” is revoked.').waitFor()
    expect(revocations()).toHaveLength(1)
    await expect.poll(focused).toBe('Access tokens')
    await page.getByText('You have no tokens.').waitFor()
    expect((await svc.send('GET', '/api/user', { token: String(token) })).status).toBe(401)
  })

  test('a new token is copied by a button, and expires when its maker says', async () => {
    await using person = await openSettings(svc, 'frida', {
      permissions: ['clipboard-read', 'clipboard-write'],
      section: 'tokens',
    })
    const { page, complaints } = person
    const details = page.locator('main li p')
    await page.getByLabel('Name of the token').fill('laptop')
    await page.getByLabel('Valid for').selectOption('30')
    await page.setViewportSize({ width: 360, height: 800 })
    const bound = page.getByLabel('Only certain models and assistants')
    await bound.press('Space')
    const model = page.getByRole('group', { name: 'It may ask' }).getByRole('checkbox').first()
    await model.waitFor()
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByText('Please choose 1 to 50 models and assistants.').waitFor()
    await model.press('Space')
    const modelName = await model.inputValue()
    await expectAccessible(page)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('button', { name: 'Copy token' }).click()
    await page.getByRole('button', { name: 'Copied.' }).waitFor()

    const token = await page.locator('output').first().textContent()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(token)
    const [made] = await svc.rows(
      `select name, abilities, models, round(extract(epoch from expires_at - created_at) / 86400)::int as days
         from access_tokens where user_id = $1`,
      [person.id],
    )
    expect(made).toEqual({ name: 'laptop', abilities: ['ai', 'user', 'read'], models: [{ name: modelName }], days: 30 })
    expect(await page.getByLabel('First request', { exact: true }).textContent()).toContain(`"${modelName}"`)
    expect(await details.nth(0).textContent()).toBe('Allows: asking models, reading your profile, reading data')
    expect(await details.nth(1).textContent()).toBe(`Asks only: ${modelName}`)
    expect(await details.nth(2).textContent()).toMatch(/^Created [\d/]+ · Never used · Expires [\d/]+$/)

    await svc.rows(
      "update access_tokens set last_used_at = '2026-02-03T12:34:00Z', expires_at = null where user_id = $1",
      [person.id],
    )
    await showSettings(page, 'tokens')
    expect(await details.nth(2).textContent()).toMatch(/ · Last used 2\/[34]\/2026, .+ · Does not expire$/)
    expect(complaints).toEqual([])
  })

  test("dates are in the page's language and the browser's region", async () => {
    await using person = await openSettings(svc, 'greta', { locale: 'en-GB', timezoneId: 'UTC' })
    const { page } = person
    await svc.rows(
      `insert into access_tokens (user_id, name, hash, abilities, created_at)
       values ($1, 'old', repeat('0', 64), '{ai}', '2026-02-13T12:00:00Z')`,
      [person.id],
    )

    await showSettings(page, 'tokens')
    await page.getByText('Created 13/02/2026').waitFor()
    await showSettings(page, 'tokens?lang=de')
    await page.getByText('Erzeugt am 13.2.2026').waitFor()

    await page.emulateMedia({ colorScheme: 'dark' })
    await page.setViewportSize({ width: 360, height: 800 })
    await page.getByLabel('Name des Tokens').fill('Laptop')
    await page.getByLabel('Nur bestimmte Modelle und Assistenten').check()
    const create = page.getByRole('button', { name: 'Token erzeugen' })
    await create.click()
    await page.getByText('Bitte wählen Sie 1 bis 50 Modelle und Assistenten.').waitFor()
    const model = page.getByRole('group', { name: 'Es darf fragen' }).getByRole('checkbox').first()
    await model.check()
    const name = await model.inputValue()
    await create.click()
    await page.getByText('Kopieren Sie das Token jetzt.').waitFor()
    await page.getByText(`Fragt nur: ${name}`).waitFor()
    await page.getByText('Noch nie benutzt · ').first().waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Widerrufen: Laptop' }).click()
    const dialog = page.getByRole('alertdialog', { name: 'Das Token „Laptop“ widerrufen?' })
    await dialog.getByRole('button', { name: 'Widerrufen' }).click()
    await page.getByText('Das Token „Laptop“ ist widerrufen.').waitFor()
  })

  test('what is working says so, lets nothing begin twice, and takes old errors away', async () => {
    await using person = await openSettings(svc, 'hanna', { section: 'tokens' })
    const { page, requests } = person
    const form = page.getByRole('form', { name: 'Create token' })
    const [name, create] = [page.getByLabel('Name of the token'), form.getByRole('button', { name: 'Create token' })]
    const outcome = form.locator('> [role=status]')
    await name.fill(' ')
    await create.click()
    await outcome.filter({ hasText: 'Please enter a name of 1 to 16 characters.' }).waitFor()
    const begun = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    await page.route('**/trpc/tokens.create*', async (route) => {
      begun.resolve()
      await held.promise
      await route.continue()
    })
    requests.length = 0

    await name.fill('laptop')
    expect(await outcome.textContent()).toBe('')
    await name.press('Enter')
    await begun.promise
    expect(await form.getAttribute('aria-busy')).toBe('true')
    expect(await create.getAttribute('aria-disabled')).toBe('true')
    expect(await outcome.textContent()).toBe('Working …')
    expect(await outcome.getAttribute('class')).not.toContain('error')
    await name.press('Enter')
    held.resolve()
    await outcome.filter({ hasText: 'Copy the token now.' }).waitFor()

    await expect.poll(() => form.getAttribute('aria-busy')).toBe('false')
    expect(requests.filter(({ url }) => url.includes('/tokens.create'))).toHaveLength(1)
  })

  test('people who may not make tokens are told to ask an administrator', async () => {
    await using own = await startApp({ ALLOW_USER_TOKEN_CREATION: 'false' })
    await using person = await openSettings(own, 'ada', { section: 'tokens' })

    await person.page.getByText('Only an administrator can create access tokens here.').waitFor()
    expect(await person.page.locator('form').count()).toBe(0)
  })
})
