import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { gatherInRoom, type RoomsPage } from '../kit/web/rooms.ts'

/** Records the requests of a page that read messages of rooms, batched or not. */
function recordReads(page: Page): string[] {
  const reads: string[] = []
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url())
    const isPage = /rooms\.related/.test(pathname) && /messages/.test(decodeURIComponent(search))
    if (isPage || /roomMessages\.(get|list|related)|rooms\.lastMessages/.test(pathname)) reads.push(pathname)
  })
  return reads
}

describeWith('chromium')('browsers that are in a room', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let people: readonly [RoomsPage, RoomsPage, RoomsPage]

  beforeAll(async () => {
    svc = resources.use(await startApp())
    people = resources.use(await gatherInRoom(svc, 'Quay', ['adaa', 'benn', 'cydd'])).people
    const [ada, ...others] = people
    await ada.say('first')
    for (const other of others) await other.findMessage('first').waitFor()
  })
  afterAll(() => resources.disposeAsync())

  test('read no message that came with its change, wherever they are', async () => {
    const [ada, ben, cyd] = people
    await using chat = await cyd.page.context().newPage()
    const chatReads = recordReads(chat)
    await chat.goto('/chat')
    await chat.getByRole('textbox', { name: 'Message' }).waitFor()
    // The author looks at another window.
    await ada.page.evaluate('document.hasFocus = () => false')
    await ben.findMessage('first').hover()
    await ben.findMessage('first').getByRole('button', { name: 'Reply', exact: true }).click()
    const thread = ben.page.getByRole('complementary', { name: 'Thread' })
    await thread.getByText('first').waitFor()
    const reads = people.map(({ page }) => recordReads(page))

    await ada.say('one for all')
    for (const each of people) await each.findMessage('one for all').waitFor()
    await thread.getByRole('textbox', { name: 'Message' }).fill('a reply')
    await thread.getByRole('button', { name: 'Send', exact: true }).click()
    for (const { page } of [ada, cyd]) await page.getByText('One reply').waitFor()
    const list = ada.page.getByRole('navigation', { name: 'Rooms' }).getByRole('listitem').filter({ hasText: 'Quay' })
    await list.getByText('a reply').waitFor()

    expect(reads.map((each) => each.length)).toEqual([0, 0, 0])
    // A tab that opens reads what is unread, once.
    expect(chatReads.length).toBeLessThanOrEqual(1)
  })
})
