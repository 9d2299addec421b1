import { expect, test } from 'vitest'
import { startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { startAccountServer } from '../kit/mcp/account-server.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { openSettings, showSettings, waitForAddress, waitForSettings } from '../kit/web/pages.ts'

const library = shareResource(startAccountServer)
const upstream = shareResource(startProvider)
const config = shareResource(() =>
  writeConfig(upstream.url, { more: { mcpServers: [{ label: 'Library', url: library.url, account: 'person' }] } }),
)
const svc = shareResource(() => startApp({ AI_CONFIG: config.file }))

describeWith('chromium')('the tool accounts in the settings', () => {
  test('a person connects an account by keyboard, sees its end, and disconnects it', async () => {
    await using person = await openSettings(svc, 'ada', { section: 'accounts?server=1' })
    const { page, complaints } = person
    await page.getByText('A tool needs your own account at “Library”.').waitFor()
    await page.getByText('Not connected').waitFor()
    await expectAccessible(page)
    await showSettings(page, 'accounts?failed=constructor')
    await page.getByRole('alert').getByText('could not be connected').waitFor()

    library.declines = true
    await page.getByRole('button', { name: 'Connect: Library' }).click()
    await page.getByText('You have not allowed the access').waitFor()

    Object.assign(library, { declines: false, signedIn: 'ada-there' })
    await page.getByRole('button', { name: 'Connect: Library' }).press('Enter')
    await waitForAddress(page, /settings\/accounts\?connected=1$/)
    await page.getByText('Your account at “Library” is connected.').waitFor()
    await page.getByText(/^Connected \w+/).waitFor()

    await svc.rows("update mcp_connections set state = 'expired', tokens = null")
    await showSettings(page, 'accounts')
    await page.getByRole('button', { name: 'Connect again: Library' }).waitFor()
    await page.setViewportSize({ width: 360, height: 700 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    await expectAccessible(page)

    await page.getByRole('button', { name: 'Disconnect: Library' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Disconnect' }).click()
    await page.getByText('Your account at “Library” is disconnected.').waitFor()
    expect(await svc.rows('select id from mcp_connections')).toEqual([])
    expect(complaints).toEqual([])
  })

  test('the page is in German, too', async () => {
    await using person = await openSettings(svc, 'bea', { section: 'accounts', locale: 'de-DE' })
    await waitForSettings(person.page)
    await person.page.getByRole('heading', { name: 'Ihre Konten bei Werkzeugservern' }).waitFor()
    await expectAccessible(person.page)
  })
})
