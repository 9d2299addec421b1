import sharp from 'sharp'
import { expect, test } from 'vitest'
import { openBrowser, PASSWORD } from '../kit/browser.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { filled, makeKeys, newcomer, signIn } from '../kit/web/pages.ts'

describeWith('chromium')('in a real browser', () => {
  test('people change their name and picture, and make and revoke tokens', async () => {
    await using svc = await newcomer()
    await using chromium = await openPage(svc.url)
    const { page } = chromium
    await signIn(page)
    await makeKeys(page)
    const picture = await sharp({ create: { width: 40, height: 30, channels: 3, background: '#369' } })
      .png()
      .toBuffer()

    await page.goto('/profile')
    await filled(page, '#usage')
    await page.fill('#name', '<b>Ada</b>')
    await page.setInputFiles('#avatar', { name: 'me.png', mimeType: 'image/png', buffer: picture })
    await page.click('#about button')
    await page.waitForSelector('#picture:not([hidden])')
    await page.fill('#token-name', 'laptop')
    await page.click('#create button')
    await filled(page, '#token')
    const token = (await page.textContent('#token')) ?? ''
    const works = await svc.send('GET', '/api/user', { token })
    await page.click('#tokens button')
    await page.click('dialog .danger')
    await page.waitForSelector('#tokens button', { state: 'detached' })
    const gone = await svc.send('GET', '/api/user', { token })

    expect([works.status, gone.status]).toEqual([200, 401])
    expect(await works.json()).toMatchObject({ name: '<b>Ada</b>' })
    expect(await page.evaluate("document.querySelector('#picture').naturalWidth")).toBe(256)
  })

  test('people see where they are signed in, and end one session or all others', async () => {
    await using svc = await newcomer()
    await using chromium = await openPage(svc.url)
    const { page, complaints } = chromium
    await signIn(page)
    await makeKeys(page)
    const come = async (userAgent: string) => {
      const browser = openBrowser(svc.url)
      const body = { account: 'ada', password: PASSWORD }
      await browser.send('POST', '/req/login', {
        body,
        headers: { 'user-agent': userAgent, 'sec-fetch-site': 'same-origin' },
      })
      return browser
    }
    const phone = await come('Mozilla/5.0 (Android 15; Mobile; rv:142.0) Gecko/142.0 Firefox/142.0')
    const program = await come('curl/8.14.1')
    const lines = page.locator('#sessions li')

    await page.goto('/profile')
    await lines.nth(2).waitFor()
    await expectAccessible(page)
    const [here, ...others] = (await lines.locator('strong').allTextContents()).sort()
    expect(here).toMatch(/^Chrome on \w+ \(this one\)$/)
    expect(others).toEqual(['Firefox on Android', 'Unknown browser'])
    expect(await lines.locator('p').allTextContents()).toEqual(
      Array(3).fill(expect.stringMatching(/^Since .+, last used .+/)),
    )
    expect(await lines.locator('button').count()).toBe(2)

    await page.getByRole('button', { name: 'End: Firefox on Android' }).click()
    await lines.nth(2).waitFor({ state: 'detached' })
    expect([await phone.standing(), await program.standing()]).toEqual(['internal', 'internal_authenticated'])

    await page.click('#others button')
    await lines.nth(1).waitFor({ state: 'detached' })
    expect(await program.standing()).toBe('internal')
    expect(await page.isVisible('#others')).toBe(false)
    await page.reload()
    expect(await page.textContent('h1')).toBe('Your profile')
    expect(complaints).toEqual([])
  })

  test('the profile tells people to ask an administrator where they may not make tokens', async () => {
    await using svc = await newcomer({ ALLOW_USER_TOKEN_CREATION: 'false' })
    await using chromium = await openPage(svc.url)
    const { page } = chromium
    await signIn(page)
    await makeKeys(page)

    await page.goto('/profile')

    expect(await page.textContent('#tokens-off')).toContain('administrator')
    expect(await page.$('#create')).toBeNull()
  })
})
