import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { addAccount, PASSWORD } from '../kit/browser.ts'
import { CALLBACK } from '../kit/oauth/program.ts'
import { buildPath, registerPath, startWithTools } from '../kit/oauth/tool-service.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { expectFitting } from '../kit/web/admin.ts'
import { openPage } from '../kit/web/chromium.ts'
import { openSettings, waitForAddress } from '../kit/web/pages.ts'

const svc = shareResource(() => startWithTools(['Archive', 'Library']))
const CURSOR = 'cursor://anysphere.cursor-mcp/oauth/callback'

/** Stores the document of a program as it was fetched just now. */
const addDocument = (clientId: string, name: string, redirectUri: string) =>
  svc.rows(
    `insert into oauth_clients (client_id, kind, name, host, redirect_uris, document, fetched_at, fresh_until)
     values ($1, 'document', $2, $3, array[$4], $5::jsonb, now(), now() + interval '1 hour')
     on conflict (client_id) do nothing`,
    [clientId, name, new URL(clientId).host, redirectUri, JSON.stringify({ name, redirectUris: [redirectUri] })],
  )

/** Answers in the place of a program on this computer. */
const answerAsProgram = (page: Page) =>
  page.route('http://127.0.0.1:4567/**', (route) => route.fulfill({ body: 'Back at the program' }))

/** Clicks on Allow as soon as it is there, and notes whether it could be clicked then and who had the focus. */
const CLICK_EARLY = `new MutationObserver(() => {
  const allow = document.getElementById('allow')
  if (!allow || globalThis.early) return
  globalThis.early = [allow.ariaDisabled, document.getElementById('decline').ariaDisabled, document.activeElement.tagName]
  allow.click()
}).observe(document, { childList: true, subtree: true })`

const ready = (page: Page) => page.locator('#allow[aria-disabled="false"]').waitFor()
const answerWith = async (page: Page, button: 'allow' | 'decline') => {
  await ready(page)
  await page.click(`#${button}`)
}

const readParameters = (page: Page) => Object.fromEntries(new URL(page.url()).searchParams)

const findCodes = (username: string) =>
  svc.rows(
    `select k.redirect_uri as "redirectUri", to_json(k.servers) as servers, k.abilities from oauth_codes k
       join users u on u.id = k.user_id where u.username = $1 order by k.expires_at`,
    [username],
  )

describeWith('chromium')('the consent for a program', () => {
  test('a person allows, declines and changes servers, each time anew and without keys', async () => {
    await addAccount(svc, 'ada')
    await using chromium = await openPage(svc.url)
    const { page, requests, complaints } = chromium
    await answerAsProgram(page)
    await page.addInitScript(CLICK_EARLY)
    const path = await registerPath(svc, { name: 'Cursor\u202e\u200b <b>fox</b>' })

    await page.goto(path)
    await page.fill('[name=account]', 'ada')
    await page.fill('[name=password]', PASSWORD)
    await page.click('#login button')
    await ready(page)
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe(path)
    expect(await page.evaluate('globalThis.early')).toEqual(['true', 'true', 'BODY'])
    expect(requests.filter(({ url }) => url.includes('oauth.agree'))).toEqual([])
    const text = (await page.textContent('#page')) ?? ''
    expect(text).toContain('Unverified: the program calls itself “Cursor <b>fox</b>”.')
    expect(text).toContain('The access goes to: a program on this computer')
    expect(text).toContain('You are signed in as The ada (ada).')
    expect(text).toContain('It may use what the tool servers below offer.')
    expect(text).toContain('no contents')
    expect(text).toContain('The access ends 90 days after its last use')
    const sizes = await page.evaluate(`['#allow', '#decline'].map((id) => {
      const { width, height } = document.querySelector(id).getBoundingClientRect()
      return [width, height]
    })`)
    expect((sizes as unknown[])[0]).toEqual((sizes as unknown[])[1])

    expect(text).toContain('Archive · 1 tool')
    const boxes = page.getByRole('group', { name: 'Tool servers' }).getByRole('checkbox')
    expect(
      await boxes.evaluateAll((all) => all.map((box) => (box as unknown as { checked: boolean }).checked)),
    ).toEqual([true, true, false])
    await page.getByRole('checkbox', { name: 'Archive' }).uncheck()
    await expect.poll(() => page.getByRole('checkbox', { name: 'Also tool servers' }).isDisabled()).toBe(true)
    await page.getByRole('checkbox', { name: 'Library' }).uncheck()
    await answerWith(page, 'allow')
    await page.getByText('Please choose at least one tool server').waitFor()
    await page.getByRole('checkbox', { name: 'Library' }).check()
    await answerWith(page, 'allow')
    await waitForAddress(page, /^http:\/\/127\.0\.0\.1:4567\/callback\?/)
    expect(readParameters(page)).toEqual({
      code: expect.any(String),
      state: 'a state',
      iss: svc.services.settings.baseUrl,
    })

    await page.goto(path)
    await answerWith(page, 'decline')
    await waitForAddress(page, /error=access_denied/)
    expect(readParameters(page)['code']).toBeUndefined()
    await page.goBack()
    await page.getByRole('checkbox', { name: 'Also tool servers' }).check()
    await answerWith(page, 'allow')
    await waitForAddress(page, /code=/)
    const [{ id: library }] = (await svc.rows<{ id: number }>(
      "select id from mcp_servers where server_label = 'Library'",
    )) as [{ id: number }]
    expect(await findCodes('ada')).toEqual(
      expect.arrayContaining([
        { redirectUri: CALLBACK, servers: [library], abilities: ['mcp'] },
        { redirectUri: CALLBACK, servers: null, abilities: ['mcp'] },
      ]),
    )
    expect(complaints).toEqual([])
  })

  test('the page works in German, dark, narrow and by keyboard, with private schemes', async () => {
    await using person = await openSettings(svc, 'hedy', { locale: 'de-DE' })
    const { page, complaints } = person
    await page.goto(await registerPath(svc, { redirectUri: CURSOR }))
    await ready(page)

    const text = (await page.textContent('#page')) ?? ''
    expect(text).toContain('Ungeprüft: Das Programm nennt sich „Cursor“.')
    expect(text).toContain('das Programm auf diesem Computer, das Adressen mit „cursor“ öffnet')
    await expectFitting(page, 'authorize-dynamic', [320, 1280])
    await expectFitting(page, 'authorize-dynamic-wide', [1280, 320])
    await page.getByRole('checkbox', { name: 'Library' }).focus()
    await page.keyboard.press('Enter')
    for (const key of ['Tab', 'Tab', 'Tab']) await page.keyboard.press(key)
    expect(await page.evaluate('document.activeElement.id')).toBe('allow')
    await page.keyboard.press('Enter')
    await page.getByText('Ihre Antwort geht an das Programm.').waitFor()

    const address = new URL((await page.getByRole('link', { name: 'Programm öffnen' }).getAttribute('href')) ?? '')
    expect(address.href.startsWith(`${CURSOR}?code=svc_code_`)).toBe(true)
    expect(await findCodes('hedy')).toHaveLength(1)
    // Nothing here opens addresses with this scheme.
    expect(complaints.filter((complaint) => !complaint.includes('cursor:'))).toEqual([])
  })

  test('a program with a document shows its host, and another can sign in', async () => {
    await using person = await openSettings(svc, 'edsger')
    const { page } = person
    await addAccount(svc, 'barbara')
    await addDocument('https://claude.example/oauth/client', 'Claude Code', CALLBACK)
    const path = buildPath('https://claude.example/oauth/client')
    await page.goto(path)
    await ready(page)

    const sizeOf = (text: string) =>
      page
        .getByText(text)
        .evaluate((it) => Number.parseFloat(it.ownerDocument.defaultView!.getComputedStyle(it).fontSize))
    expect(await sizeOf('claude.example')).toBeGreaterThan(await sizeOf('The program calls itself “Claude Code”.'))
    await expectFitting(page, 'authorize-document', [320, 1280])
    await page.getByRole('button', { name: 'Not you?' }).click()
    await waitForAddress(page, /\/login\?redirectUri=/)
    await page.fill('[name=account]', 'barbara')
    await page.fill('[name=password]', PASSWORD)
    await page.click('#login button')
    await page.getByText('You are signed in as The barbara (barbara).').waitFor()
    expect(new URL(page.url()).search).toBe(path.slice(path.indexOf('?')))
  })

  test('no other site frames or answers the page, and wrong requests stay here', async () => {
    await using person = await openSettings(svc, 'frances', { locale: 'de-DE' })
    const { page } = person
    const path = await registerPath(svc)
    // It has the host of the service, so the browser sends the cookie of the session.
    const site = 'http://127.0.0.1:9/'
    const form = `<form method="post" action="${svc.url}/trpc/oauth.agree" enctype="text/plain"><input name="{}"></form>`
    const html = `${form}<iframe src="${svc.url}${path.replaceAll('&', '&amp;')}"></iframe>`
    await page.route(site, (route) => route.fulfill({ contentType: 'text/html', body: html }))

    await page.goto(site)
    await expect.poll(() => page.frames().map((frame) => frame.url())).toContain('chrome-error://chromewebdata/')
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url().includes('oauth.agree')),
      page.evaluate('document.forms[0].submit()'),
    ])
    expect(answer.status()).toBe(403)
    await waitForAddress(page, /oauth\.agree$/)
    expect(await findCodes('frances')).toEqual([])

    for (const wrong of [
      path.replace('%2Fcallback', '%2Felsewhere'),
      path.replace('client_id=dyn_', 'client_id=dyn_A'),
    ]) {
      const refused = await page.goto(wrong)
      expect([refused?.status(), page.url()]).toEqual([400, svc.url + wrong])
      expect(await page.textContent('h1')).toBe('Dieses Programm lässt sich nicht anmelden')
    }
    await expectFitting(page, 'authorize-refused', [320, 1280])
  })
})
