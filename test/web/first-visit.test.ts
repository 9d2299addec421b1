import { expect, test } from 'vitest'
import { cloneDatabase } from '../kit/database.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { createDataFolder, startProcess } from '../kit/service-process.ts'
import { openPage } from '../kit/web/chromium.ts'
import { PASSKEY, waitForFocus } from '../kit/web/pages.ts'

describeWith('chromium')('whoever starts the service for the first time', () => {
  test('comes from what it prints to the first answer with fewer than ten clicks', async () => {
    await using database = await cloneDatabase()
    await using folder = await createDataFolder()
    const settings = { NODE_ENV: 'development', DATABASE_URL: database.url, DATA_DIR: folder.path, PORT: '0' }
    await using service = startProcess(settings)
    await service.ready()
    const { out } = service.output
    const [, address = '', account = ''] = /^Open (http:\/\/127\.0\.0\.1:\d+) and sign in as (\w+)\./m.exec(out) ?? []
    const password = /Password\s+(\S+)/.exec(out)?.[1] ?? ''
    await using chromium = await openPage(address)
    const { page, complaints } = chromium
    let clicks = 0
    await page.exposeFunction('countClick', () => {
      clicks++
    })
    await page.addInitScript("addEventListener('click', () => countClick(), true)")

    await page.goto('/')
    await page.getByLabel('Username or e-mail address').fill(account)
    await page.getByLabel('Password').fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'I agree and continue' }).click()
    const passphrase = page.getByLabel('Passphrase', { exact: true })
    await passphrase.fill(`${account}1`)
    await page.getByRole('status').getByText('The passphrase needs at least 8 characters.').waitFor()
    await passphrase.fill(PASSKEY)
    await page.getByRole('status').getByText('This passphrase is fair').waitFor()
    const show = page.getByRole('button', { name: 'Show passphrase' }).first()
    expect(await passphrase.getAttribute('type')).toBe('password')
    await show.click()
    expect(await show.getAttribute('aria-pressed')).toBe('true')
    expect(await passphrase.getAttribute('type')).toBe('text')
    await page.getByLabel('Repeat the passphrase').fill(PASSKEY)
    await page.getByRole('button', { name: 'Make my keys' }).click()
    await page.getByRole('link', { name: 'I have saved the code' }).click({ timeout: 240_000 })
    await page.getByText('Welcome to svc', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'What can this page show?' }).click()
    // A beginning of a question is not sent before the person does.
    const field = page.getByRole('textbox', { name: 'Message' })
    await expect.poll(() => field.inputValue()).toBe('What can this page show? ')
    await waitForFocus(field)
    expect(await page.getByRole('article').count()).toBe(0)
    await page.keyboard.press('Enter')
    await page.getByRole('article').getByRole('table').waitFor()
    await page.getByRole('article').locator('pre:visible').first().waitFor()

    expect(clicks).toBeGreaterThan(3)
    expect(clicks).toBeLessThan(10)
    expect(complaints).toEqual([])
  })
})
