import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { addCopies, openRooms, type RoomsPage } from '../kit/web/rooms.ts'

const SENDING = '**/trpc/**roomMessages.create**'

/** The smallest document with one page. */
const PDF = Buffer.from(
  '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n' +
    '3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF',
)

/** Keeps what a page would have shown beside the browser, and lets a test say whether somebody looks at the page. */
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
    ada = resources.use(await openRooms(svc, 'adaa'))
    ben = resources.use(await openRooms(svc, 'benn'))
    await ben.page.addInitScript(recordNotices)
    await ben.page.reload()
    await ada.createRoom('Canal')
    await ada.invite('benn')
    await ben.accept()
    await ada.say('Water')
    await ben.said('Water').waitFor()
  }, 120_000)
  afterAll(() => resources.disposeAsync())

  test('a notice names the room and nothing that was written, while nobody looks and none is muted', async () => {
    const { page } = ben
    await page.getByRole('main').getByRole('button', { name: 'Options for Canal' }).click()
    await page.getByRole('menuitem', { name: 'Notify me on this device' }).click()
    await page.evaluate("sessionStorage.setItem('away', 'yes')")
    await ada.say('The canary is out')
    await ben.said('The canary is out').waitFor()
    await expect.poll(() => page.evaluate('notices')).toEqual(['Canal: New message'])
    await page.evaluate("sessionStorage.removeItem('away')")
    await ada.say('Now somebody looks')
    await ben.said('Now somebody looks').waitFor()
    expect(await page.evaluate('notices')).toEqual(['Canal: New message'])
  })

  test('a document is shown in the browser that opened it', async () => {
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

  test('whoever was away jumps to the first of many messages that they have not read', async () => {
    await expect
      .poll(async () => (await svc.rows<{ id: number }>('select max(up_to) as id from room_read_marks'))[0]?.id)
      .toBe(4)
    await ben.page.goto('/chat')
    await addCopies(svc, 'Canal', 180)
    await ada.page.reload()
    await ada.say('The last of many')
    await ben.page.goto('/rooms')
    await ben.page.getByRole('navigation', { name: 'Rooms' }).getByRole('link', { name: /Canal/ }).click()
    await ben.said('The last of many').waitFor()
    expect(await ben.page.getByText('New', { exact: true }).count()).toBe(0)
    await ben.page.getByRole('button', { name: 'First unread' }).click()
    await ben.page.getByText('New', { exact: true }).waitFor()
    await ben.said('How a lock works').waitFor()
    await expectAccessible(ben.page)
    await ben.page.getByRole('button', { name: 'Latest' }).click()
    await ben.said('The last of many').waitFor()
  })

  test('no more than fifty messages wait for a connection', async () => {
    await ada.page.route(SENDING, (route) => route.abort())
    for (let n = 1; n <= 50; n++) await ada.say(`drop ${n}`)
    await ada.say('one drop too many')
    await ada.page.getByText('As many messages wait as are kept').waitFor()
    await ada.page.unroute(SENDING)
    await ben.said('drop 50').waitFor({ timeout: 45_000 })
    const drops = ben.page
      .getByRole('main')
      .getByRole('article')
      .filter({ hasText: /drop \d/ })
    expect(await drops.locator('.markdown').allTextContents()).toEqual(
      Array.from({ length: 50 }, (_, n) => `drop ${n + 1}`),
    )
  })
})
