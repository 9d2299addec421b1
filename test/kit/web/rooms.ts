import type { BrowserContextOptions, Page } from 'playwright-core'
import type { TestApp } from '../app.ts'
import { openChat } from './chat.ts'

/** Somebody new, with keys of their own, who looks at their rooms. */
export async function openRooms(svc: TestApp, account: string, options: BrowserContextOptions = {}) {
  const chat = await openChat(svc, account, options)
  const { page } = chat
  await page.goto('/rooms')
  await page.getByRole('heading', { level: 1, name: /^(Rooms|Räume)$/ }).waitFor()
  return { ...chat, account, ...roomControls(page) }
}

export type RoomsPage = Awaited<ReturnType<typeof openRooms>>

/** People with a browser each, in a room that the first of them has made. */
export async function gatherInRoom<Accounts extends readonly string[]>(
  svc: TestApp,
  room: string,
  accounts: readonly [...Accounts],
  texts?: NewRoom,
) {
  await using resources = new AsyncDisposableStack()
  const people: RoomsPage[] = []
  for (const account of accounts) people.push(resources.use(await openRooms(svc, account)))
  await createRoomWith(people, room, texts)
  const disposables = resources.move()
  return {
    people: people as { [Index in keyof Accounts]: RoomsPage },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

/** Makes a room for one test, which may be repeated, whatever the pages show. Returns its name. */
export async function makeRoom(name: string, people: readonly RoomsPage[], texts?: NewRoom): Promise<string> {
  const room = `${name} ${++madeRooms}`
  for (const { page } of people) await page.goto('/rooms')
  await createRoomWith(people, room, texts)
  return room
}

let madeRooms = 0

/** The first of these people creates the room and invites the others, who accept. */
async function createRoomWith([host, ...guests]: readonly RoomsPage[], room: string, texts?: NewRoom): Promise<void> {
  await host?.createRoom(room, texts)
  for (const guest of guests) {
    await host?.invite(guest.account)
    await guest.accept(room)
  }
}

interface NewRoom {
  description?: string
  systemPrompt?: string
  sharesEarlierKeys?: boolean
}

/** Actions of a person on the pages of rooms. */
export function roomControls(page: Page) {
  const main = page.getByRole('main')
  return {
    async createRoom(name: string, { description = '', systemPrompt = '', sharesEarlierKeys = true }: NewRoom = {}) {
      await page.getByRole('button', { name: 'New room' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill(name)
      if (description !== '') await dialog.getByLabel('Description').fill(description)
      if (systemPrompt !== '') await dialog.getByLabel('Instructions').fill(systemPrompt)
      if (!sharesEarlierKeys) await dialog.getByRole('checkbox').uncheck()
      await dialog.getByRole('button', { name: 'Create room' }).click()
      await page.getByRole('heading', { level: 1, name }).waitFor()
      await main.getByRole('textbox', { name: 'Message' }).waitFor()
    },
    /** Invites somebody by their name. */
    async invite(username: string, role = 'editor') {
      await showPanel(page, 'Members')
      const panel = page.getByRole('complementary', { name: 'Members' })
      await panel.getByRole('button', { name: 'Invite', exact: true }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Role').selectOption(role)
      await dialog.getByLabel('Search people').fill(username)
      await dialog.getByRole('button', { name: `Invite The ${username}`, exact: true }).click()
      await dialog.getByText('Invited', { exact: true }).waitFor()
      await dialog.getByRole('button', { name: 'Close' }).click()
      await panel.getByRole('button', { name: 'Close' }).click()
    },
    /** Accepts the invitation to a room, or the one that is there. */
    async accept(room = '') {
      await findInvitation(page, room).getByRole('button', { name: 'Accept' }).click()
      await page.getByRole('heading', { level: 1, name: room }).waitFor()
      await main.getByRole('textbox', { name: 'Message' }).waitFor()
    },
    async say(text: string) {
      await main.locator('footer').getByRole('textbox', { name: 'Message' }).fill(text)
      await main.locator('footer').getByRole('button', { name: 'Send', exact: true }).click()
    },
    /** The last message with these words; a test that is tried again says them once more. */
    findMessage: (text: string) => main.getByRole('article').filter({ hasText: text }).last(),
    showPanel: (name: string) => showPanel(page, name),
  }
}

/** The invitation to a room in the sidebar. */
export const findInvitation = (page: Page, room: string) =>
  page
    .getByRole('navigation', { name: 'Rooms' })
    .getByRole('listitem')
    .filter({ has: page.getByRole('button', { name: 'Accept' }), hasText: room })

async function showPanel(page: Page, name: string): Promise<void> {
  await page.getByRole('main').getByRole('button', { name, exact: true }).click()
  await page.getByRole('complementary', { name, exact: true }).waitFor()
}

/** The id of the last message of somebody in a room that they have read. */
export async function findReadMark(svc: TestApp, account: string, room: string): Promise<number> {
  const [mark] = await svc.rows<{ upTo: number }>(
    `select up_to as "upTo" from room_read_marks k join users u on u.id = k.user_id join rooms r on r.id = k.room_id
      where u.username = $1 and r.name = $2`,
    [account, room],
  )
  return mark?.upTo ?? 0
}

/** The id of the last message of a room. */
export async function findLastMessage(svc: TestApp, room: string): Promise<number> {
  const [last] = await svc.rows<{ id: number }>(
    'select max(m.id) as id from room_messages m join rooms r on r.id = m.room_id where r.name = $1',
    [room],
  )
  return last?.id ?? 0
}

/** Writes the first message of a room so many times more, as if its author had. */
export const addCopies = ({ rows }: Pick<TestApp, 'rows'>, room: string, count: number) =>
  rows(
    `with first as (
      select m.* from room_messages m join rooms r on r.id = m.room_id where r.name = $1 order by m.id limit 1
    ), last as (
      select max(seq) as seq, max(ordinal) as ordinal from room_messages where room_id = (select room_id from first)
    )
    insert into room_messages (room_id, member_id, content, key_epoch, seq, sub_seq, ordinal)
    select room_id, member_id, content, key_epoch, last.seq + n, 0, last.ordinal + n
      from first cross join last cross join generate_series(1, $2::int) n`,
    [room, count],
  )
