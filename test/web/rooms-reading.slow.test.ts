import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import {
  addCopies,
  findLastMessage,
  findReadMark,
  gatherInRoom,
  type RoomsPage,
  roomControls,
} from '../kit/web/rooms.ts'

const SENDING = '**/trpc/**roomMessages.create**'

/** The smallest document with one page. */
const PDF = Buffer.from(
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n' +
    '3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF',
)

/** Records the page's notifications, and lets a test set whether the page is visible. */
const recordNotices = `
  globalThis.notices = []
  globalThis.Notification = class {
    static permission = 'granted'
    static requestPermission = async () => 'granted'
    constructor(title, { body }) { notices.push(title + ': ' + body) }
  }
  document.hasFocus = () => !sessionStorage.getItem('away')
`

describeWith('chromium')('somebody who reads a room', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let ada: RoomsPage
  let ben: RoomsPage

  beforeAll(async () => {
    svc = resources.use(await startApp())
    const { people } = resources.use(await gatherInRoom(svc, 'Canal', ['adaa', 'benn']))
    ;[ada, ben] = people
    await ben.page.addInitScript(recordNotices)
    await ben.page.reload()
    await ada.say('Water')
    await ben.said('Water').waitFor()
    await ben.page.getByRole('main').getByRole('button', { name: 'Options for Canal' }).click()
    await ben.page.getByRole('menuitem', { name: 'Notify me on this device' }).click()
  })
  afterAll(() => resources.disposeAsync())

  test('a notice names the room and no text, while the page is hidden', async () => {
    const { page } = ben
    const look = (isAway: boolean) =>
      page.evaluate(`sessionStorage.setItem('away', '${isAway ? 'yes' : ''}'); dispatchEvent(new Event('focus'))`)
    const sayWhile = async (isAway: boolean, text: string) => {
      await look(isAway)
      await ada.say(text)
      await ben.said(text).waitFor()
    }
    await page.evaluate('notices.length = 0')
    await sayWhile(true, 'The canary is out')
    await expect.poll(() => page.evaluate('notices')).toEqual(['Canal: New message'])
    await sayWhile(false, 'Now somebody looks')
    await sayWhile(true, 'The canary is back')
    await expect.poll(() => page.evaluate('notices.length')).toBe(2)
    await look(false)
  })

  test('a notice shows what was written only after the person has allowed that', async () => {
    const { page } = ben
    const choose = async (entry: string) => {
      await page.getByRole('main').getByRole('button', { name: 'Options for Canal' }).click()
      await page.getByRole('menuitem', { name: entry }).click()
    }
    await choose('Show messages in notices')
    await page.evaluate("notices.length = 0; sessionStorage.setItem('away', 'yes'); dispatchEvent(new Event('focus'))")
    await ada.say('The **lock** opens at ten')
    const first = 'Canal: The adaa: The lock opens at ten'
    await expect.poll(() => page.evaluate('notices')).toEqual([first])

    const other = await page.context().newPage()
    await other.goto(page.url())
    await other.getByRole('main').getByRole('textbox', { name: 'Message' }).waitFor()
    await ada.say('It closes at noon')
    await ben.said('It closes at noon').waitFor()
    await roomControls(other).say('I wrote this in another tab')
    await ben.said('I wrote this in another tab').waitFor()
    await other.close()
    await expect.poll(() => page.evaluate('notices')).toEqual([first, 'Canal: The adaa: It closes at noon'])
    await page.evaluate("sessionStorage.removeItem('away'); dispatchEvent(new Event('focus'))")
    await choose('Show no messages in notices')
  })

  test('a document is shown in the browser that opened it', async () => {
    ben.complaints.length = 0
    const chosen = ada.page.waitForEvent('filechooser')
    await ada.page.getByRole('button', { name: 'Attach files' }).click()
    await (await chosen).setFiles({ name: 'lock.pdf', mimeType: 'application/pdf', buffer: PDF })
    await ada.page.getByText('Ready').waitFor()
    await ada.say('How a lock works')
    await ben.said('How a lock works').getByRole('button', { name: 'lock.pdf' }).click()
    const dialog = ben.page.getByRole('dialog')
    await expect.poll(() => dialog.locator('iframe').getAttribute('src')).toMatch(/^blob:/)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(ben.complaints).toEqual([])
  })

  test('messages of different days stand below lines of their days', async () => {
    await ada.createRoom('Pond')
    await ada.say('Ducks')
    await ada.said('Ducks').locator('time').waitFor()
    await svc.rows(
      `update room_messages set created_at = now() - interval '1 day'
        where room_id = (select id from rooms where name = 'Pond')`,
    )
    await ada.say('Geese')
    await ada.said('Geese').locator('time').waitFor()
    await ada.page.reload()
    await ada.said('Ducks').waitFor()
    const days = ada.page.getByRole('main').locator('.line')
    await expect.poll(async () => (await days.allTextContents()).slice(0, 2)).toEqual(['Yesterday', 'Today'])
    await ada.page.getByRole('navigation', { name: 'Rooms' }).getByRole('link', { name: /Canal/ }).click()
    await ada.page.getByRole('heading', { level: 1, name: 'Canal' }).waitFor()
  })

  /** Adds many messages while Ben has another page open, then returns him to the room. */
  const comeBackLater = async () => {
    await ben.page.goto('/chat')
    await addCopies(svc, 'Canal', 180)
    await ada.page.reload()
    await ada.say('The last of many')
    await ben.page.goto('/rooms')
    await ben.page.getByRole('navigation', { name: 'Rooms' }).getByRole('link', { name: /Canal/ }).click()
    await ben.said('The last of many').waitFor()
  }
  const newLine = () => ben.page.getByText('New', { exact: true })

  test('a returning person jumps to the first of many unread messages', async () => {
    await ada.say('Before the flood')
    await ben.said('Before the flood').waitFor()
    const last = await findLastMessage(svc, 'Canal')
    await expect.poll(() => findReadMark(svc, 'benn', 'Canal')).toBe(last)
    await comeBackLater()
    expect(await newLine().count()).toBe(0)
    await ben.page.getByRole('button', { name: 'First unread' }).click()
    await newLine().waitFor()
    await ben.page.locator(`#message-${last}`).waitFor()
    await expectAccessible(ben.page)
    await ben.page.getByRole('button', { name: 'Latest' }).click()
    await ben.said('The last of many').waitFor()
  })

  test('whoever has read nothing yet jumps to the very first message', async () => {
    await ben.page.goto('/chat')
    await svc.rows('delete from room_read_marks')
    await comeBackLater()
    expect(await newLine().count()).toBe(0)
    await ben.page.getByRole('button', { name: 'First unread' }).click()
    await newLine().waitFor()
    await ben.page.getByRole('button', { name: 'Show earlier messages' }).waitFor({ state: 'detached' })
    await ben.said('Water').waitFor()
    await ben.page.getByRole('button', { name: 'Latest' }).click()
    await ben.said('The last of many').waitFor()
  })

  test('no more than fifty messages wait for a connection', async () => {
    await ada.page.route(SENDING, (route) => route.abort())
    for (let n = 1; n <= 50; n++) await ada.say(`drop ${n}`)
    await ada.say('one drop too many')
    await ada.page.getByText('As many messages wait as are kept').waitFor()
    await ada.page.unroute(SENDING)
    await ben.said('drop 50').waitFor({ timeout: 200_000 })
    const drops = ben.page
      .getByRole('main')
      .getByRole('article')
      .filter({ hasText: /drop \d/ })
    await expect
      .poll(() => drops.locator('.markdown').allTextContents())
      .toEqual(Array.from({ length: 50 }, (_, n) => `drop ${n + 1}`))
  })
})
