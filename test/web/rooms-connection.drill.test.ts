import type { Page, WebSocketRoute } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { makeRoom, openRooms, type RoomsPage } from '../kit/web/rooms.ts'

const SENDING = '**/trpc/**roomMessages.create**'

/** Closes a socket instead of its first message, with a code that clients do not reconnect after. */
const refuseHandshake = (socket: WebSocketRoute) =>
  socket.connectToServer().onMessage(() => void socket.close({ code: 4009 }))

describeWith('chromium')('a room while connections fail', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let ada: RoomsPage
  let ben: RoomsPage

  beforeAll(async () => {
    svc = resources.use(await startApp())
    ada = resources.use(await openRooms(svc, 'adaa'))
    ben = resources.use(await openRooms(svc, 'benn'))
  })
  beforeEach(async () => {
    for (const { page } of [ada, ben]) {
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      await page.context().setOffline(false)
    }
    await makeRoom('Ferry', [ada, ben])
  })
  afterAll(() => resources.disposeAsync())

  const stored = async () => (await svc.rows('select from room_messages')).length

  const shownIn = (page: Page) => page.getByRole('main').getByRole('article').locator('.markdown').allTextContents()

  test('unsent messages stay sealed over a reload, and are sent once in order', async () => {
    await ada.page.route(SENDING, (route) => route.abort())
    for (const text of ['wave one', 'wave two', 'wave three']) await ada.say(text)
    await expect.poll(() => ada.page.getByText('waits for a connection').count()).toBe(3)
    await expectAccessible(ada.page)
    const kept = await ada.page.evaluate(() => JSON.stringify({ ...localStorage }))
    expect(kept).toContain('svc:outbox')
    expect(kept).not.toContain('wave')
    await ada.page.reload()
    await expect.poll(() => shownIn(ada.page)).toEqual(['wave one', 'wave two', 'wave three'])

    await ada.page.unroute(SENDING)
    await expect.poll(() => shownIn(ben.page)).toEqual(['wave one', 'wave two', 'wave three'])
    await ada.page.getByText('waits for a connection').first().waitFor({ state: 'detached' })
    expect(await shownIn(ada.page)).toEqual(['wave one', 'wave two', 'wave three'])
  })

  test('a message whose receipt is lost is sent again, and stands there once', async () => {
    const before = await stored()
    await ada.page.route(
      SENDING,
      async (route) => {
        await route.fetch()
        await route.abort()
      },
      { times: 1 },
    )
    await ada.say('only once')
    await ben.findMessage('only once').waitFor()
    await ada.page.getByText('waits for a connection').waitFor({ state: 'detached' })
    expect(await stored()).toBe(before + 1)
    expect(await shownIn(ada.page)).toEqual(['only once'])
  })

  test('a message that is refused says so, and can be sent again or discarded', async () => {
    const setRole = (role: string) =>
      svc.rows("update room_members set role = $1 where user_id = (select id from users where username = 'adaa')", [
        role,
      ])
    // For this one request only: a page that reads the role of a viewer takes its text field away.
    await ada.page.route(
      SENDING,
      async (route) => {
        await setRole('viewer')
        const response = await route.fetch()
        await setRole('admin')
        await route.fulfill({ response })
      },
      { times: 1 },
    )
    await ada.say('refused')
    const message = ada.findMessage('refused')
    await message.getByText('not sent').waitFor()
    await expectAccessible(ada.page)
    await message.getByRole('button', { name: 'Try again' }).click()
    await ben.findMessage('refused').waitFor()

    const refusal = [{ error: { message: 'No', code: -32003, data: { code: 'FORBIDDEN', httpStatus: 403 } } }]
    await ada.page.route(SENDING, (route) => route.fulfill({ status: 403, json: refusal }))
    await ada.say('discarded')
    await ada.findMessage('discarded').getByRole('button', { name: 'Discard' }).click()
    await ada.findMessage('discarded').waitFor({ state: 'detached' })
  })

  test('a message appears at once, marked until it is sent', async () => {
    const held = Promise.withResolvers<void>()
    await ada.page.route(SENDING, async (route) => {
      await held.promise
      await route.continue()
    })
    await ada.say('on its way')
    await ada.findMessage('on its way').getByText('sending', { exact: true }).waitFor()
    expect(await ben.findMessage('on its way').count()).toBe(0)
    held.resolve()
    await ben.findMessage('on its way').waitFor()
    await ada.findMessage('on its way').getByText('sending', { exact: true }).waitFor({ state: 'detached' })
  })

  test('a browser that slept shows what was written, edited and deleted meanwhile', async () => {
    for (const text of ['a buoy', 'an anchor']) {
      await ada.say(text)
      await ben.findMessage(text).waitFor()
    }
    const debug = await ben.page.context().newCDPSession(ben.page)
    await debug.send('Page.setWebLifecycleState', { state: 'frozen' })
    onTestFinished(async () => void (await debug.send('Page.setWebLifecycleState', { state: 'active' })))
    const choose = async (text: string, entry: string) => {
      await ada.findMessage(text).hover()
      await ada.findMessage(text).getByRole('button', { name: 'More' }).click()
      await ada.page.getByRole('menuitem', { name: entry }).click()
    }
    await choose('a buoy', 'Edit message')
    await ada.page.getByRole('textbox', { name: 'Edit message' }).fill('a red buoy')
    await ada.page.getByRole('button', { name: 'Save' }).click()
    await ada.findMessage('a red buoy').waitFor()
    await choose('an anchor', 'Delete')
    await ada.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await ada.say('while you slept')
    await ada.findMessage('while you slept').waitFor()

    await debug.send('Page.setWebLifecycleState', { state: 'active' })
    await ben.findMessage('while you slept').waitFor()
    await ben.findMessage('a red buoy').waitFor()
    await ben.findMessage('Message deleted').waitFor()
    expect(await ben.findMessage('an anchor').count()).toBe(0)
  })

  test('offline, a question to a model is refused, and messages wait until reconnection', async () => {
    const context = ben.page.context()
    const before = await stored()
    await context.setOffline(true)
    const field = ben.page.getByRole('main').getByRole('textbox', { name: 'Message' })
    await field.fill('@svc What now?')
    await ben.page.getByText('A question to a model is not kept').waitFor()
    await expect.poll(() => ben.page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true)
    await field.fill('from the tunnel')
    await field.press('Enter')
    await ben.page.getByText('waits for a connection').waitFor()
    for (const text of ['tide one', 'tide two', 'tide three']) await ada.say(text)
    await expect.poll(stored).toBe(before + 3)

    await context.setOffline(false)
    await expect.poll(() => shownIn(ben.page)).toEqual(['tide one', 'tide two', 'tide three', 'from the tunnel'])
    await ada.findMessage('from the tunnel').waitFor()
  })

  test('an open room goes on after the person has ended their other sessions', async () => {
    const { page } = ben
    const [socket] = await Promise.all([page.waitForEvent('websocket'), page.reload()])
    await ada.say('before the end')
    await ben.findMessage('before the end').waitFor()
    const closed = socket.waitForEvent('close')
    const status = await page.evaluate(async () => {
      const headers = { 'content-type': 'application/json' }
      const response = await fetch('/trpc/sessions.endOthers', { method: 'POST', headers, body: '{}' })
      return response.status
    })
    expect(status).toBe(200)
    await closed
    for (const text of ['after the end', 'and once more']) {
      await ada.say(text)
      await ben.findMessage(text).waitFor()
    }
    expect(await page.getByRole('alertdialog').count()).toBe(0)
  })

  test.each([
    { account: 'cydd', event: 'fails', fail: (socket: WebSocketRoute) => void socket.close() },
    { account: 'deee', event: 'is refused', fail: refuseHandshake },
  ])('where each socket $event, changes come by server-sent events', async ({ account, fail }) => {
    await ada.say('before the guest')
    await using guest = await openRooms(svc, account)
    await guest.page.routeWebSocket(/\/ws\/transfer/, fail)
    await ada.invite(account)
    await guest.page.reload()
    await guest.accept()
    await guest.findMessage('before the guest').waitFor()
    await ada.say(`by another way for ${account}`)
    await guest.findMessage(`by another way for ${account}`).waitFor()
  })
})
