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

/** A picture of one dot. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
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
    await ben.findMessage('Water').waitFor()
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
      await ben.findMessage(text).waitFor()
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
    await choose('Show messages in notifications')
    await page.evaluate("notices.length = 0; sessionStorage.setItem('away', 'yes'); dispatchEvent(new Event('focus'))")
    await ada.say('The **lock** opens at ten')
    const first = 'Canal: The adaa: The lock opens at ten'
    await expect.poll(() => page.evaluate('notices')).toEqual([first])

    const other = await page.context().newPage()
    await other.goto(page.url())
    await other.getByRole('main').getByRole('textbox', { name: 'Message' }).waitFor()
    await ada.say('It closes at noon')
    await ben.findMessage('It closes at noon').waitFor()
    await roomControls(other).say('I wrote this in another tab')
    await ben.findMessage('I wrote this in another tab').waitFor()
    await other.close()
    await expect.poll(() => page.evaluate('notices')).toEqual([first, 'Canal: The adaa: It closes at noon'])
    await page.evaluate("sessionStorage.removeItem('away'); dispatchEvent(new Event('focus'))")
    await choose('Hide messages in notifications')
  })

  test('a document is shown in the browser that opened it', async () => {
    ben.complaints.length = 0
    const chosen = ada.page.waitForEvent('filechooser')
    await ada.page.getByRole('button', { name: 'Attach files' }).click()
    await (await chosen).setFiles({ name: 'lock.pdf', mimeType: 'application/pdf', buffer: PDF })
    await ada.page.getByText('Ready').waitFor()
    await ada.say('How a lock works')
    await ben.findMessage('How a lock works').getByRole('button', { name: 'lock.pdf' }).click()
    const dialog = ben.page.getByRole('dialog')
    await expect.poll(() => dialog.locator('iframe').getAttribute('src')).toMatch(/^blob:/)
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    expect(ben.complaints).toEqual([])
  })

  test('messages of different days stand below lines of their days', async () => {
    await ada.createRoom('Pond')
    await ada.say('Ducks')
    await ada.findMessage('Ducks').locator('time').waitFor()
    await svc.rows(
      `update room_messages set created_at = now() - interval '1 day'
        where room_id = (select id from rooms where name = 'Pond')`,
    )
    await ada.say('Geese')
    await ada.findMessage('Geese').locator('time').waitFor()
    await ada.page.reload()
    await ada.findMessage('Ducks').waitFor()
    const days = ada.page.getByRole('log').locator('> div > p')
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
    await ben.findMessage('The last of many').waitFor()
  }
  const newLine = () => ben.page.getByText('New', { exact: true })

  test('a returning person jumps to the first of many unread messages', async () => {
    await ada.say('Before the flood')
    await ben.findMessage('Before the flood').waitFor()
    const last = await findLastMessage(svc, 'Canal')
    await expect.poll(() => findReadMark(svc, 'benn', 'Canal')).toBe(last)
    await comeBackLater()
    expect(await newLine().count()).toBe(0)
    await ben.page.getByRole('button', { name: 'Go to the first unread message' }).click()
    await newLine().waitFor()
    await ben.page.locator(`#message-${last}`).waitFor()
    await expectAccessible(ben.page)
    await ben.page.getByRole('button', { name: 'Latest' }).click()
    await ben.findMessage('The last of many').waitFor()
  })

  test('whoever has read nothing yet jumps to the very first message', async () => {
    await ben.page.goto('/chat')
    await svc.rows('delete from room_read_marks')
    await comeBackLater()
    expect(await newLine().count()).toBe(0)
    await ben.page.getByRole('button', { name: 'Go to the first unread message' }).click()
    await newLine().waitFor()
    await ben.page.getByRole('button', { name: 'Show earlier messages' }).waitFor({ state: 'detached' })
    await ben.findMessage('Water').waitFor()
    await ben.page.getByRole('button', { name: 'Latest' }).click()
    await ben.findMessage('The last of many').waitFor()

    await ben.page.getByRole('log').hover()
    await ben.page.mouse.wheel(0, -2000)
    await ben.page.getByRole('button', { name: 'Go to the beginning' }).click()
    await ben.findMessage('Water').waitFor()
    expect(await ben.page.getByRole('button', { name: 'Show earlier messages' }).count()).toBe(0)
    await ben.say('Mine comes into view')
    await expect
      .poll(async () => (await ben.findMessage('Mine comes into view').boundingBox())?.y ?? Number.NaN)
      .toBeLessThan(720)
    await ben.page.getByRole('button', { name: 'Latest' }).waitFor({ state: 'detached' })
  })

  /** Copies the address of a message. */
  const copyLink = async ({ page, findMessage }: RoomsPage, text: string) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await findMessage(text).hover()
    await findMessage(text).getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Copy link' }).click()
    await findMessage(text).getByText('The link is copied.').waitFor()
    return page.evaluate<string>('navigator.clipboard.readText()')
  }
  const isInView = ({ page }: RoomsPage, id: number) =>
    page.locator(`#message-${id}[aria-current]`).evaluate((message) => {
      const { top, bottom } = message.getBoundingClientRect()
      return top >= 0 && bottom <= message.ownerDocument.documentElement.clientHeight
    })

  test('a link opens the room at its message, however far back', async () => {
    const [first] = await svc.rows<{ id: number }>(
      `select min(m.id) as id from room_messages m join rooms r on r.id = m.room_id where r.name = 'Canal'`,
    )
    await ben.page.getByRole('button', { name: 'Latest' }).waitFor({ state: 'detached' })
    const link = await copyLink(ben, 'The last of many')
    const early = link.replace(/message=\d+$/, 'message=1')
    expect(early).not.toBe(link)

    await ada.page.goto(early)
    await expect.poll(() => isInView(ada, first?.id ?? 0)).toBe(true)
    await expectAccessible(ada.page)

    await ada.page.goto(link.replace(/message=\d+$/, 'message=99999'))
    await ada.page.getByText('The message of this link is not in this room.').waitFor()
    await ada.page.getByRole('alert').getByRole('button', { name: 'Close' }).click()
    await ada.say('I am here all the same')
    await ada.findMessage('I am here all the same').locator('time').waitFor()
  })

  test('a link to a reply opens its thread', async () => {
    await ada.findMessage('I am here all the same').hover()
    await ada.findMessage('I am here all the same').getByRole('button', { name: 'Reply', exact: true }).click()
    const thread = ada.page.getByRole('complementary', { name: 'Thread' })
    await thread.getByRole('textbox', { name: 'Message' }).fill('A reply with an address')
    await thread.getByRole('button', { name: 'Send', exact: true }).click()
    await thread.getByRole('article').filter({ hasText: 'A reply' }).locator('time').waitFor()
    const link = await copyLink(
      { ...ada, findMessage: (text) => thread.getByRole('article').filter({ hasText: text }) },
      'A reply',
    )

    await ben.page.goto(link)

    const reply = ben.page.getByRole('complementary', { name: 'Thread' }).locator('article[aria-current]')
    await reply.getByText('A reply with an address').waitFor()
    await expectAccessible(ben.page)
  })

  test('a person has a picture beside their messages, and initials without one', async () => {
    await ada.page.goto('/settings/profile')
    await ada.page.getByLabel('Picture').setInputFiles({ name: 'ada.png', mimeType: 'image/png', buffer: PNG })
    await ada.page.getByRole('button', { name: 'Save' }).click()
    await ada.page.getByText('Saved').waitFor()

    await ben.say('And I have none')

    const picture = ben.findMessage('I am here all the same').locator('img')
    await expect.poll(() => picture.getAttribute('src')).toContain('/proxy/storage/')
    await expect.poll(() => picture.evaluate((image) => Reflect.get(image, 'naturalWidth'))).toBeGreaterThan(0)
    expect(await ben.findMessage('And I have none').locator('img').count()).toBe(0)
    await ben.findMessage('And I have none').getByText('TB', { exact: true }).waitFor()
    await ada.page.goto(ben.page.url())
    await ada.findMessage('And I have none').waitFor()
  })

  test('messages that are marked as unread stay so, in every tab of the person', async () => {
    await ada.say('Read me later')
    await ben.findMessage('Read me later').waitFor()
    await ada.say('Me, too')
    const last = await findLastMessage(svc, 'Canal')
    await expect.poll(() => findReadMark(svc, 'benn', 'Canal')).toBeGreaterThanOrEqual(last)
    const other = await ben.page.context().newPage()
    await other.goto(ben.page.url())
    await other.getByText('Me, too').last().waitFor()

    await ben.findMessage('Read me later').hover()
    await ben.findMessage('Read me later').getByRole('button', { name: 'More' }).click()
    await ben.page.getByRole('menuitem', { name: 'Mark as unread' }).click()

    for (const page of [ben.page, other]) {
      await page.getByText('New', { exact: true }).waitFor()
      await page.getByText('2 unread messages').first().waitFor({ state: 'attached' })
    }
    await ben.page.evaluate("dispatchEvent(new Event('blur')); dispatchEvent(new Event('focus'))")
    await ada.say('And me')
    await ben.page.getByText('3 unread messages').first().waitFor({ state: 'attached' })
    await other.close()
    await ben.say('Now I have read all')
    await expect.poll(() => ben.page.getByText(/unread messages?/).count()).toBe(0)
  })

  test('no more than fifty messages wait for a connection', async () => {
    await ada.page.route(SENDING, (route) => route.abort())
    for (let n = 1; n <= 50; n++) await ada.say(`drop ${n}`)
    await ada.say('one drop too many')
    await ada.page.getByText('No more messages can wait').waitFor()
    await ada.page.unroute(SENDING)
    await ben.findMessage('drop 50').waitFor({ timeout: 200_000 })
    const drops = ben.page
      .getByRole('main')
      .getByRole('article')
      .filter({ hasText: /drop \d/ })
    await expect
      .poll(() => drops.locator('.markdown').allTextContents())
      .toEqual(Array.from({ length: 50 }, (_, n) => `drop ${n + 1}`))
  })
})
