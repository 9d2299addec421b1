import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount, PASSWORD } from '../kit/browser.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForAddress } from '../kit/web/pages.ts'
import { findInvitation, makeRoom, openRooms, type RoomsPage } from '../kit/web/rooms.ts'

describeWith('chromium')('the members of a room in three browsers', () => {
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
    await addAccount(svc, 'dora', { known: true })
  })
  afterAll(() => resources.disposeAsync())

  const invitationTo = (room: string, { page }: RoomsPage) => findInvitation(page, room)

  const panelOf = ({ page }: RoomsPage) => page.getByRole('complementary', { name: 'Members' })

  test('somebody without keys is kept in mind, and invited once they have some', async () => {
    await svc.rows("update users set public_key = '' where username = 'dora'")
    await makeRoom('Later', [ada])
    await ada.showPanel('Members')
    await panelOf(ada).getByRole('button', { name: 'Invite', exact: true }).click()
    const dialog = ada.page.getByRole('dialog')
    await dialog.getByLabel('Search people').fill('dora')
    await dialog.getByRole('button', { name: /^Invite / }).click()
    await dialog.getByText('This person has no keys yet.').waitFor()
    await expectAccessible(ada.page)
    await dialog.getByRole('button', { name: 'Close' }).click()
    await svc.rows(
      "update users set public_key = (select public_key from users where username = 'benn') where username = 'dora'",
    )

    await ada.page.reload()
    await ada.showPanel('Members')
    await panelOf(ada).getByRole('list', { name: 'Invited' }).getByText('The dora').waitFor()
    await panelOf(ada).getByText('This person has no keys yet.').waitFor({ state: 'detached' })
  })

  test('an invitation shows what it is to, and is declined or accepted', async () => {
    const room = await makeRoom('Council', [ada])
    await ada.invite('benn')
    const invitation = invitationTo(room, ben)
    await invitation.getByText('The adaa invites you, with the role “Editor”.').waitFor()
    await invitation.getByRole('button', { name: 'Decline' }).click()
    await invitation.waitFor({ state: 'detached' })
    await ada.invite('benn')
    await ben.accept(room)
  })

  test('an invitation that is withdrawn is gone for whoever was invited', async () => {
    const room = await makeRoom('Council', [ada])
    await ada.invite('cydd')
    await invitationTo(room, cyd).waitFor()
    await ada.showPanel('Members')
    await panelOf(ada).getByRole('button', { name: 'Withdraw the invitation of The cydd' }).click()
    await invitationTo(room, cyd).waitFor({ state: 'detached' })
  })

  test('whoever has a link joins by it, and its secret never leaves the browser', async () => {
    await makeRoom('Council', [ada])
    await ada.showPanel('Members')
    await panelOf(ada).getByRole('button', { name: 'Invite', exact: true }).click()
    const dialog = ada.page.getByRole('dialog')
    await dialog.getByLabel('Role').selectOption('viewer')
    await dialog.getByRole('button', { name: 'Create link' }).click()
    const link = await dialog.getByRole('textbox', { name: 'Invitation by link' }).inputValue()
    await dialog.getByRole('img', { name: 'The link as a QR code' }).waitFor()
    await expectAccessible(ada.page)
    await dialog.getByRole('button', { name: 'Close' }).click()
    await ada.say('Before the guest')

    await cyd.page.goto('about:blank')
    await cyd.page.goto(link)
    await cyd.page.getByText('The adaa invites you, with the role “Reader”.').waitFor()
    expect(cyd.page.url()).toMatch(/\/rooms\/join$/)
    await expectAccessible(cyd.page)
    await cyd.page.getByRole('button', { name: 'Accept' }).click()
    await cyd.findMessage('Before the guest').waitFor()
    await cyd.page.getByText('You can read here.').waitFor()

    const secret = link.split('.').at(-1) ?? ''
    const all = [...ada.requests, ...cyd.requests].filter(({ url }) => url.startsWith(`${svc.url}/`))
    expect(all.filter(({ url, body }) => url.split('#')[0]?.includes(secret) || body.includes(secret))).toEqual([])
  })

  test('a link is made once, and goes when another role is chosen', async () => {
    await makeRoom('Council', [ada])
    await ada.showPanel('Members')
    const invited = panelOf(ada).getByRole('list', { name: 'Invited' }).getByText('Anybody who has the link')
    await panelOf(ada).getByRole('button', { name: 'Invite', exact: true }).click()
    const dialog = ada.page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Create link' }).dblclick()
    await dialog.getByRole('textbox', { name: 'Invitation by link' }).waitFor()
    await dialog.getByLabel('Role').selectOption('viewer')
    await dialog.getByRole('button', { name: 'Create link' }).waitFor()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await expect.poll(() => invited.count()).toBe(1)
  })

  test('a link leads somebody who is not signed in to the room', async () => {
    await makeRoom('Council', [ada])
    await ada.say('Before the guest')
    await ada.showPanel('Members')
    await panelOf(ada).getByRole('button', { name: 'Invite', exact: true }).click()
    const dialog = ada.page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Create link' }).click()
    const link = await dialog.getByRole('textbox', { name: 'Invitation by link' }).inputValue()
    await dialog.getByRole('button', { name: 'Close' }).click()
    const { page } = ben
    await page.context().clearCookies()

    await page.goto(link)
    await waitForAddress(page, /\/login/)
    expect(page.url()).not.toContain('#')
    await page.fill('[name=account]', 'benn')
    await page.fill('[name=password]', PASSWORD)
    await page.click('#login button')
    await page.getByRole('button', { name: 'Accept' }).click()
    await page.getByRole('article').filter({ hasText: 'Before the guest' }).waitFor()
  })

  test('a removed member is notified and reads nothing of the new key', async () => {
    const room = await makeRoom('Council', [ada, ben, cyd])
    await ada.showPanel('Members')
    await panelOf(ada).getByLabel('Role of The cydd').selectOption('viewer')
    await cyd.page.getByText('You can read here.').waitFor()
    await panelOf(ada).getByLabel('Role of The cydd').selectOption('editor')
    await cyd.page.getByRole('main').getByRole('textbox', { name: 'Message' }).waitFor()
    await cyd.say('I can write now')
    await ben.findMessage('I can write now').waitFor()
    await panelOf(ada).getByRole('button', { name: 'Remove The cydd' }).click()
    await ada.page.getByRole('dialog').getByText('can no longer read what is written from now on').waitFor()
    await ada.page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click()
    for (const { page } of [ada, ben]) await page.getByText('The cydd was removed from the room.').last().waitFor()
    await expectAccessible(ben.page)

    await cyd.page.getByText('You are no longer a member of this room').waitFor()
    await expect.poll(() => cyd.page.getByRole('article').count()).toBe(0)
    const keys = () =>
      svc.rows('select key_epoch as epoch, rekey_required_since is null as done from rooms where name = $1', [room])
    await expect.poll(keys).toEqual([{ epoch: 1, done: true }])
    await ben.page.reload()
    await ben.say('Without the guest')
    await ada.findMessage('Without the guest').waitFor()
    const [last] = await svc.rows<{ epoch: number }>(
      `select m.key_epoch as epoch from room_messages m join rooms r on r.id = m.room_id
        where r.name = $1 order by m.id desc limit 1`,
      [room],
    )
    expect(last?.epoch).toBe(1)
  })

  test('a message without its key says so, and opens when the key arrives', async () => {
    const room = await makeRoom('Council', [ada, ben])
    await ada.say('Without the key')
    await ben.findMessage('Without the key').waitFor()
    // An open page of another member would hand the key over at once.
    await ada.page.goto('about:blank')
    const ofBen = "user_id = (select id from users where username = 'benn')"
    const ofRoom = (column: string) => `(select ${column} from rooms where name = $1)`
    await svc.rows(`delete from room_keys where room_id = ${ofRoom('id')} and ${ofBen}`, [room])
    await svc.rows(`delete from user_keychain_values where key = ${ofRoom('slug')} and ${ofBen}`, [room])
    await ben.page.reload()
    await ben.page.getByText('The key of this message (number 0) has not arrived yet.').waitFor()
    await ben.page.getByText('The key of this room has not arrived yet.').waitFor()
    await expectAccessible(ben.page)

    await svc.rows('update rooms set rekey_required_since = now() where name = $1', [room])
    await ben.page.reload()
    await ben.page.getByRole('status').getByText('The room is getting new keys.').waitFor()
    await expectAccessible(ben.page)
    await ada.page.goBack()
    await ben.findMessage('Without the key').waitFor()
    await ben.say('Healed')
    await ada.findMessage('Healed').waitFor()
  })

  test("leaving warns of its consequences, closes the room, and leaves the person's picture", async () => {
    const room = await makeRoom('Council', [ada, ben])
    const [person] = await svc.rows<{ id: number }>("select id from users where username = 'benn'")
    const data = { type: 'users', id: `${person?.id}`, attributes: { avatar: DOT } }
    const headers = { 'content-type': 'application/vnd.api+json', 'sec-fetch-site': 'same-origin' }
    const request = { data: { data }, headers }
    expect((await ben.page.context().request.patch(`/api/svc/v1/users/${person?.id}`, request)).status()).toBe(200)
    await ben.say('My picture stays')
    await ben.showPanel('Members')
    await panelOf(ben).getByRole('button', { name: 'Leave room' }).click()
    await ben.page.getByRole('dialog').getByText('What you have written stays.').waitFor()
    await ben.page.getByRole('dialog').getByRole('button', { name: 'Leave room' }).click()
    await waitForAddress(ben.page, /\/rooms$/)
    const rooms = ben.page.getByRole('navigation', { name: 'Rooms' })
    await rooms.getByRole('link', { name: room }).waitFor({ state: 'detached' })
    await ada.page.reload()
    const picture = ada.findMessage('My picture stays').locator('img')
    await expect.poll(() => picture.evaluate(({ naturalWidth }: { naturalWidth: number }) => naturalWidth)).toBe(256)
  })
})

/** A picture of one pixel. */
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
