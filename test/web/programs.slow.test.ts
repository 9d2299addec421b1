import { expect, test } from 'vitest'
import { openBrowser } from '../kit/browser.ts'
import { CALLBACK, registerProgram, signInProgram } from '../kit/oauth/program.ts'
import { startWithTools } from '../kit/oauth/tool-service.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { expectFitting, openAdmin, showAdmin } from '../kit/web/admin.ts'
import { openSettings, showSettings } from '../kit/web/pages.ts'

const svc = shareResource(() => startWithTools(['Archive', 'Library']))

/** Opens a second browser of a person, in which they sign a program in; returns its access token. */
async function signInFor(account: string, { name, servers = null }: { name: string; servers?: number[] | null }) {
  const browser = openBrowser(svc.url)
  await browser.login(account)
  const clientId = await registerProgram(svc, [CALLBACK], name)
  const { tokens } = await signInProgram(svc, browser, { clientId, servers })
  return tokens.access_token
}

const statusOf = async (token: string) => (await svc.send('GET', '/v1/models', { token })).status

describeWith('chromium')('programs with access', () => {
  test('a person sees them beside the tokens, and ends one by a click', async () => {
    await using person = await openSettings(svc, 'grace', { section: 'tokens' })
    const { page, complaints } = person
    const programs = page.getByRole('list', { name: 'Programs with access' })
    await programs.getByText('You have signed in no program.').waitFor()
    const [{ id: library }] = (await svc.rows<{ id: number }>(
      "select id from mcp_servers where server_label = 'Library'",
    )) as [{ id: number }]
    const token = await signInFor('grace', { name: 'Narrow', servers: [library] })
    await signInFor('grace', { name: 'Wide' })
    expect(await statusOf(token)).toBe(403)
    await svc.rows(
      `update oauth_grants set replayed_at = '2026-11-01', ends_at = '2026-11-01' where user_id = $1 and servers is null`,
      [person.id],
    )

    await showSettings(page, 'tokens')
    const narrow = programs.getByRole('listitem').filter({ hasText: 'Narrow' })
    const text = (await narrow.textContent()) ?? ''
    for (const part of ['Unverified name · ', 'Allows: calling tools', 'Tool servers: Library'])
      expect(text).toContain(part)
    expect(text).toMatch(/Signed in \d.+ · (Last|Never) used.* · Expires \d/)
    const wide = (await programs.getByRole('listitem').filter({ hasText: 'Wide' }).textContent()) ?? ''
    expect(wide).toContain('All tool servers, also those that are added later')
    expect(wide).toMatch(/Ended on .+, because one of its earlier keys was used a second time/)
    expect(await page.getByRole('list', { name: 'Access tokens' }).getByRole('listitem').count()).toBe(1)
    await expectFitting(page, 'programs-settings', [320, 1280])
    await page.getByRole('button', { name: 'End access: Narrow' }).click()
    await page.getByText('The access of “Narrow” has ended.').waitFor()
    await narrow.waitFor({ state: 'detached' })
    expect(await statusOf(token)).toBe(401)
    expect(complaints).toEqual([])
  })

  test('administrators register, rotate, block and allow programs, and see whose they are', async () => {
    await using admin = await openAdmin(svc, 'root', { path: 'programs' })
    const { page } = admin
    await using person = await openSettings(svc, 'linus')
    const token = await signInFor('linus', { name: 'Suspect' })
    const dialog = page.getByRole('dialog')

    await page.getByRole('button', { name: 'Register program' }).click()
    await dialog.getByLabel('Name').fill('House agent')
    await dialog.getByLabel('Addresses to return to').fill('ftp://agent.example/back')
    await dialog.getByLabel('It has a secret').check()
    await dialog.getByRole('button', { name: 'Register program' }).click()
    await dialog.getByText('must be https, http on a loopback address').waitFor()
    await expectFitting(page, 'programs-register', [320, 1280])
    await dialog.getByLabel('Addresses to return to').fill('https://agent.example/back, http://127.0.0.1/back')
    await dialog.getByRole('button', { name: 'Register program' }).click()
    await dialog.getByText('it is shown only once').waitFor()
    await page.mouse.click(5, 5)
    const [id, secret] = await dialog.locator('output').allTextContents()
    expect([id, secret]).toEqual([expect.stringMatching(/^reg_\w{24}$/), expect.stringMatching(/^\w{40,}$/)])
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    const row = page.getByRole('row').filter({ hasText: 'House agent' })
    await row.getByText('https://agent.example/back, http://127.0.0.1/back').waitFor()
    await row.getByRole('button', { name: 'New secret' }).click()
    await dialog.getByRole('button', { name: 'New secret' }).click()
    await expect
      .poll(() => dialog.locator('output').allTextContents())
      .toEqual([expect.not.stringContaining(String(secret))])
    await page.mouse.click(5, 5)
    await dialog.getByRole('button', { name: 'Close' }).last().click()

    await showAdmin(page, 'programs?q=susp')
    const suspect = page.getByRole('row').filter({ hasText: 'Suspect' })
    await suspect.getByText('Registered itself').waitFor()
    expect(await page.getByRole('row').count()).toBe(2)
    await suspect.getByRole('button', { name: 'Block' }).click()
    await dialog.getByText('the access that 1 person has given it').waitFor()
    await dialog.getByRole('button', { name: 'Block' }).click()
    await suspect.getByText('Blocked').waitFor()
    expect(await statusOf(token)).toBe(401)
    await expectFitting(page, 'programs', [320, 1280])
    await showAdmin(page, `people/${person.id}`)
    const table = page.getByRole('table', { name: 'Programs' })
    await table.getByRole('row').filter({ hasText: 'Suspect' }).getByText('All, also later ones').waitFor()
    await expectFitting(page, 'programs-person', [320, 1280])
    await showAdmin(page, 'programs?q=susp')
    await suspect.getByRole('button', { name: 'Allow again' }).click()
    await dialog.getByRole('button', { name: 'Allow again' }).click()
    await suspect.getByText('Allowed').waitFor()
    expect(await statusOf(token)).toBe(403)
    await showAdmin(page, `people/${person.id}`)
    await table.getByRole('button', { name: 'End access' }).click()
    await dialog.getByText('the person must sign it in again').waitFor()
    await dialog.getByRole('button', { name: 'End access' }).click()
    await page.getByText('This person has signed in no program.').waitFor()
    expect(await statusOf(token)).toBe(401)
    await showAdmin(page, 'audit?act=oauth.')
    await page.getByText(/ended the access of a program of .*linus/).waitFor()
    await page.getByText(/registered .*House agent/).waitFor()
    await page
      .getByText(/changed .*Suspect/)
      .first()
      .waitFor()
  })
})
