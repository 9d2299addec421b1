import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { PASSWORD } from '../kit/browser.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { makeKeys, PASSKEY, signIn, waitForAddress } from '../kit/web/pages.ts'
import { makeRoom, openRooms, type RoomsPage } from '../kit/web/rooms.ts'

describeWith('chromium')('a room after somebody lost what they had', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let ada: RoomsPage
  let ben: RoomsPage
  let cyd: RoomsPage

  beforeAll(async () => {
    svc = resources.use(await startApp())
    ada = resources.use(await openRooms(svc, 'adaa'))
    ben = resources.use(await openRooms(svc, 'benn'))
    cyd = resources.use(await openRooms(svc, 'cydd'))
  })
  afterAll(() => resources.disposeAsync())

  /** A room of all three, who have read its first message. */
  const lightLamp = async (): Promise<string> => {
    const room = await makeRoom('Lighthouse', [ada, ben, cyd])
    await ada.say('The lamp is lit')
    for (const other of [ben, cyd]) await other.findMessage('The lamp is lit').waitFor()
    return room
  }

  const enter = (room: string, { page }: Pick<RoomsPage, 'page'>) =>
    page.getByRole('navigation', { name: 'Rooms' }).getByRole('link', { name: room }).click()

  const findEpoch = async (room: string) => {
    const [found] = await svc.rows<{ epoch: number }>('select key_epoch as epoch from rooms where name = $1', [room])
    return found?.epoch
  }

  const removeFrom = async (by: RoomsPage, name: string) => {
    await by.showPanel('Members')
    const panel = by.page.getByRole('complementary', { name: 'Members' })
    await panel.getByRole('button', { name: `Remove ${name}` }).click()
    await by.page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
    await panel.getByRole('button', { name: 'Close' }).click()
  }

  test('whoever lost a device reads everything on another one, with their passkey', async () => {
    const room = await lightLamp()
    await using device = await openPage(svc.url)
    const { page } = device
    await signIn(page, 'benn', PASSWORD)
    await page.goto('/rooms')
    await page.fill('[name=passkey]', PASSKEY)
    await page.click('#unlock [type=submit]')
    await enter(room, { page })
    await page.getByRole('article').filter({ hasText: 'The lamp is lit' }).waitFor()
    await expectAccessible(page)
  })

  test('a new member of a room without key sharing sees why messages are closed', async () => {
    const room = await makeRoom('Vault', [ada, ben], { sharesEarlierKeys: false })
    await cyd.page.goto('/rooms')
    await ada.say('For the two of us')
    await ben.findMessage('For the two of us').waitFor()
    await removeFrom(ada, 'The benn')
    await expect.poll(() => findEpoch(room)).toBeGreaterThan(0)

    await ada.invite('cydd')
    await cyd.accept(room)
    await cyd.page
      .getByText('This message was written with an earlier key (number 0), which this room does not share with you.')
      .waitFor()
    await ada.say('For the new two')
    await cyd.findMessage('For the new two').waitFor()
    await expectAccessible(cyd.page)
  })

  test('a message that waits for a new key is sent by itself', async () => {
    const room = await lightLamp()
    for (const { page } of [ada, ben])
      await page.route(/roomKeys\.rekey/, (route) => route.fulfill({ status: 503, body: '' }))
    await removeFrom(ada, 'The cydd')
    await ben.page.getByRole('status').getByText('The room is getting new keys.').waitFor()
    await ben.say('Not for the one who left')
    await ben.page.locator('article:not([id])').filter({ hasText: 'Not for the one who left' }).waitFor()
    expect(await ada.findMessage('Not for the one who left').count()).toBe(0)

    for (const { page } of [ada, ben]) await page.unroute(/roomKeys\.rekey/)

    await ada.findMessage('Not for the one who left').waitFor()
    const [last] = await svc.rows<{ epoch: number }>(
      `select m.key_epoch as epoch from room_messages m join rooms r on r.id = m.room_id
        where r.name = $1 order by m.id desc limit 1`,
      [room],
    )
    expect(last?.epoch).toBe(1)
  })

  test('a readmitted member reads earlier messages where the room shares keys', async () => {
    const room = await lightLamp()
    await removeFrom(ada, 'The cydd')
    await cyd.page.getByText('You are no longer a member of this room').waitFor()
    await expectAccessible(cyd.page)
    await expect.poll(() => findEpoch(room)).toBeGreaterThan(0)
    await ada.say('The fog is thick')
    await ben.findMessage('The fog is thick').waitFor()

    await ada.invite('cydd')
    await cyd.page.goto('/rooms')
    await cyd.accept(room)
    for (const text of ['The lamp is lit', 'The fog is thick']) await cyd.findMessage(text).waitFor()
    await cyd.say('I am back')
    await ada.findMessage('I am back').waitFor()
  })

  test('a member with new keys sees closed messages until another accepts their new key', {
    timeout: 300_000,
  }, async () => {
    const { page } = ben
    const room = await lightLamp()
    await ada.page.goto('about:blank')
    await cyd.page.goto('about:blank')
    await page.context().clearCookies()
    await signIn(page, 'benn', PASSWORD)
    await page.goto('/handshake')
    await page.click('summary')
    await page.click('#reset button')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete my keys' }).click()
    await waitForAddress(page, /register/)
    // New keys, not those that all tests share.
    await page.addInitScript('delete crypto.subtle.generateKey')
    await makeKeys(page, { isGiven: false })
    await page.click('#kept a')
    await page.goto('/rooms')
    await enter(room, ben)
    await page
      .getByText(/The key of this (message|room)/)
      .first()
      .waitFor()
    await expectAccessible(page)

    await ada.page.goto('/rooms')
    await enter(room, ada)
    const notice = ada.page.getByRole('alert').filter({ hasText: 'The benn: this key is not the same as before.' })
    await notice.getByRole('button', { name: 'Compare keys' }).click()
    await ada.page.getByRole('button', { name: 'Key of The benn' }).click()
    await ada.page.getByRole('dialog').getByRole('button', { name: 'Accept this key' }).click()
    await ben.findMessage('The lamp is lit').waitFor()
    await ben.say('With new keys')
    await ada.findMessage('With new keys').waitFor()
  })
})
