import { expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openChat } from '../kit/web/chat.ts'
import { openAccountMenu, waitForSettings } from '../kit/web/pages.ts'

describeWith('chromium')('a page that lacks a file of its own', () => {
  test('reloads if there is a newer front end, and shows the requested view', async () => {
    await using svc = await startApp()
    await using person = await openChat(svc, 'ada')
    const { page } = person
    await page.evaluate('globalThis.isOpenedBefore = true')
    const gone = /\/settings-page[^/]*\.js$/
    await page.route(gone, (route) => route.fulfill({ status: 404 }))
    page.once('load', () => page.unroute(gone))
    // The page itself fetches its address to compare its scripts.
    await page.route('**/*', async (route) => {
      if (route.request().resourceType() !== 'fetch' || route.request().url().includes('/trpc')) return route.fallback()
      const answer = await route.fetch()
      const body = await answer.text()
      await route.fulfill({ response: answer, body: body.replaceAll(/main-[\w-]+\.js/g, 'main-newer.js') })
    })

    await openAccountMenu(page)
    await page.getByRole('menuitem', { name: 'Settings' }).click()

    await waitForSettings(page)
    expect(await page.evaluate('globalThis.isOpenedBefore')).toBeUndefined()
  })

  test('stays as it is where the service is away, and says so', async () => {
    await using svc = await startApp()
    await using person = await openChat(svc, 'ada')
    const { page } = person
    await page.evaluate('globalThis.isOpenedBefore = true')
    await openAccountMenu(page)
    await page.context().setOffline(true)

    await page.getByRole('menuitem', { name: 'Settings' }).click()

    await page.getByRole('alert').getByText('The service cannot be reached.').waitFor()
    await page.getByRole('navigation', { name: 'Chats' }).waitFor()
    expect(await page.evaluate('globalThis.isOpenedBefore')).toBe(true)
    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Try again' }).click()
    await waitForSettings(page)
  })
})
