import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { gatherInRoom, type RoomsPage } from '../kit/web/rooms.ts'

/** A picture of one dot. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describeWith('chromium')('the list of rooms', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let ada: RoomsPage
  let ben: RoomsPage

  beforeAll(async () => {
    svc = resources.use(await startApp())
    const { people } = resources.use(await gatherInRoom(svc, 'Orchard', ['adaa', 'benn'], { description: 'Apples' }))
    ;[ada, ben] = people
  })
  afterAll(() => resources.disposeAsync())

  const rowOf = ({ page }: RoomsPage, name: string) =>
    page.getByRole('navigation', { name: 'Rooms' }).getByRole('listitem').filter({ hasText: name })

  const openRoom = async (by: RoomsPage, name: string) => {
    await rowOf(by, name).getByRole('link').click()
    await by.page.getByRole('heading', { level: 1, name }).waitFor()
  }

  beforeEach(async () => {
    for (const each of [ada, ben]) await openRoom(each, 'Orchard')
  })

  const choose = async (by: RoomsPage, name: string, entry: string) => {
    await rowOf(by, name).hover()
    await by.page
      .getByRole('button', { name: `Options for ${name}` })
      .first()
      .click()
    await by.page.getByRole('menuitem', { name: entry }).click()
  }

  test('a room says who wrote last and what, which only its members can read', async () => {
    await ada.say('The apples are ripe')
    await rowOf(ben, 'Orchard').getByText('The adaa: The apples are ripe').waitFor()
    await expectAccessible(ben.page)
  })

  test('the chats show the unread count of the rooms', async () => {
    await ben.page.goto('/chat')
    await ben.page.getByRole('textbox', { name: 'Message' }).waitFor()
    await ada.say('Who picks them?')
    const way = ben.page.getByRole('navigation', { name: 'Navigation' }).getByRole('link', { name: 'Rooms' })
    await way.getByText(/unread message/).waitFor()
    await expectAccessible(ben.page)
    await way.click()
    await rowOf(ben, 'Orchard').getByRole('link').click()
    await ben.findMessage('Who picks them?').waitFor()
  })

  test('a muted room counts nothing and notifies in no browser of the person', async () => {
    await choose(ben, 'Orchard', 'Mute')
    await rowOf(ben, 'Orchard').locator('> span > svg').waitFor()
    await ben.createRoom('Elsewhere')
    await ben.page.evaluate(() => localStorage.clear())
    await ben.page.reload()
    await ada.say('Nobody hears this')
    await rowOf(ben, 'Orchard').getByText('Nobody hears this').waitFor()
    expect(
      await rowOf(ben, 'Orchard')
        .getByText(/unread message/)
        .count(),
    ).toBe(0)
    await choose(ben, 'Orchard', 'Unmute')
    await rowOf(ben, 'Orchard')
      .getByText(/unread message/)
      .waitFor()
  })

  test('a room that is archived lies apart, and comes back when the person wants', async () => {
    await ben.createRoom('Attic')
    await choose(ben, 'Attic', 'Archive')
    await ben.page.getByRole('heading', { level: 1, name: 'Rooms' }).waitFor()
    await ben.page.reload()
    await ben.page.getByText('Archived (1)').click()
    await expectAccessible(ben.page)
    await choose(ben, 'Attic', 'Restore')
    await ben.page.getByText('Archived (1)').waitFor({ state: 'detached' })
    await rowOf(ben, 'Attic').waitFor()
  })

  test('a room has a picture from the start, and editable name, texts and picture', async () => {
    const { page } = ada
    await page.getByRole('button', { name: 'New room' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('The name is not encrypted, unlike the messages.').waitFor()
    await dialog.getByLabel('Name').fill('Cellar')
    const file = { name: 'dot.png', mimeType: 'image/png', buffer: PNG }
    await dialog.getByLabel('Picture').setInputFiles(file)
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Create room' }).click()
    await page.locator('main header img').waitFor()
    await rowOf(ada, 'Cellar').locator('img').waitFor()
    const before = await page.locator('main header img').getAttribute('src')

    await page.getByRole('main').getByRole('button', { name: 'Options for Cellar' }).click()
    await page.getByRole('menuitem', { name: 'Room settings' }).click()
    await dialog.getByLabel('Name').fill('Vault')
    await dialog.getByLabel('Description').fill('Below the house')
    await dialog.getByLabel('Picture').setInputFiles({ ...file, buffer: PNG })
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'Vault' }).waitFor()
    await page.getByText('Below the house').waitFor()
    await expect.poll(() => page.locator('main header img').getAttribute('src')).not.toBe(before)
  })

  test('a text that cannot be opened stays when another is changed', async () => {
    const { page } = ada
    await ada.createRoom('Shed', { description: 'Behind the house', systemPrompt: 'Be brief.' })
    const readTexts = () =>
      svc.rows<{ description: string; prompt: string }>(
        "select room_description as description, system_prompt as prompt from rooms where name = 'Shed' order by id desc limit 1",
      )
    await svc.rows(
      "update rooms set room_description = (select room_description from rooms where name = 'Orchard') where name = 'Shed'",
    )
    const [before] = await readTexts()

    await page.reload()
    await page.getByRole('main').getByRole('button', { name: 'Options for Shed' }).click()
    await page.getByRole('menuitem', { name: 'Room settings' }).click()
    const dialog = page.getByRole('dialog')
    await expect.poll(() => dialog.getByLabel('Description').getAttribute('placeholder')).toMatch(/cannot be opened/)
    await dialog.getByLabel('Instructions').fill('Be very brief.')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })

    const [after] = await readTexts()
    expect(after?.description).toBe(before?.description)
    expect(after?.prompt).not.toBe(before?.prompt)
  })

  test('a deleted room disappears for everybody, with a notice to its viewers', async () => {
    await ada.createRoom('Barn')
    await ada.invite('benn')
    await ben.accept()
    await ada.say('The hay is dry')
    await ben.findMessage('The hay is dry').waitFor()
    await ada.page.getByRole('main').getByRole('button', { name: 'Options for Barn' }).click()
    await ada.page.getByRole('menuitem', { name: 'Delete room' }).click()
    await ada.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await ben.page.getByText('You are no longer a member of this room').waitFor()
    await rowOf(ben, 'Barn').waitFor({ state: 'detached' })
    expect(await svc.rows("select from rooms where name = 'Barn'")).toEqual([])
  })
})
