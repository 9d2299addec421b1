import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { addCopies, gatherInRoom, type RoomsPage } from '../kit/web/rooms.ts'

const HISTORY = 5000
/** Number of messages that the worker reads by one request. */
const PAGE = 200

describeWith('chromium')('somebody who searches in a room', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let ada: RoomsPage

  beforeAll(async () => {
    svc = resources.use(await startApp())
    const { people } = resources.use(await gatherInRoom(svc, 'Barn', ['adaa']))
    ;[ada] = people
    for (const text of ['Hay', 'A **needle** in it']) {
      await ada.say(text)
      await ada.page
        .locator('article[id]')
        .filter({ hasText: text.slice(-5) })
        .waitFor()
    }
    await addCopies(svc, 'Barn', HISTORY)
  })
  afterAll(() => resources.disposeAsync())

  /** Reopens the room and its search. */
  const openSearch = async () => {
    await ada.page.goto('/rooms')
    await ada.page.getByRole('navigation', { name: 'Rooms' }).getByRole('link', { name: /Barn/ }).click()
    await ada.showPanel('Search')
    const panel = ada.page.getByRole('complementary', { name: 'Search' })
    await panel.getByText('The last 50 messages were searched.').waitFor()
    return panel
  }
  const searchAll = async (panel: Awaited<ReturnType<typeof openSearch>>) => {
    await panel.getByRole('button', { name: 'Search the whole history' }).click()
    await panel.getByText('All 5,002 messages were searched.').waitFor()
  }

  test('the whole history is searched in a worker, and an old message shown', async () => {
    const panel = await openSearch()
    await panel.getByRole('searchbox').fill('NEEDLE')
    await panel.getByText('Nothing was found.').waitFor()
    ada.requests.length = 0
    await searchAll(panel)
    const read = ada.requests.filter(({ url }) => url.includes('rooms.related'))
    expect(read.length).toBeLessThanOrEqual(Math.ceil(HISTORY / PAGE) + 1)
    await expectAccessible(ada.page)

    await panel.getByRole('button', { name: /needle/ }).click()
    await ada.page.locator('article[aria-current]').filter({ hasText: 'A needle in it' }).waitFor()
    await ada.say('Another needle')
    await panel.getByRole('button', { name: /Another needle/ }).waitFor()
    await expect.poll(() => panel.getByRole('button', { name: /needle/ }).count()).toBe(2)
  })

  test('the searched history stays while the search is closed, and ends with the room', async () => {
    const panel = await openSearch()
    await panel.getByRole('button', { name: 'Search the whole history' }).click()
    await panel.getByText(/All 5,00\d messages were searched/).waitFor()
    await panel.getByRole('button', { name: 'Close' }).click()
    await ada.showPanel('Search')
    await panel.getByText(/All 5,00\d messages were searched/).waitFor()
    expect(ada.page.workers().length).toBe(1)
    await ada.page.getByRole('link', { name: 'Chats' }).first().click()
    await expect.poll(() => ada.page.workers().length).toBe(0)
  })

  test('what is read goes with the session', async () => {
    const panel = await openSearch()
    await panel.getByRole('button', { name: 'Search the whole history' }).click()
    await panel.getByText(/All 5,00\d messages were searched/).waitFor()
    await ada.page.context().clearCookies()
    await ada.say('Who am I?')
    await expect.poll(() => ada.page.workers().length).toBe(0)
    expect(ada.complaints.filter((text) => /Content Security/.test(text))).toEqual([])
  })
})
