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

function roomControls(page: Page) {
  const main = page.getByRole('main')
  return {
    async createRoom(name: string, { description = '', systemPrompt = '', sharesEarlierKeys = true } = {}) {
      await page.getByRole('button', { name: 'New room' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill(name)
      if (description !== '') await dialog.getByLabel('Description').fill(description)
      if (systemPrompt !== '') await dialog.getByLabel('What the model is told first').fill(systemPrompt)
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
      await dialog.getByLabel('Find people').fill(username)
      await dialog.getByRole('button', { name: /^Invite / }).click()
      await dialog.getByText('Invited', { exact: true }).waitFor()
      await dialog.getByRole('button', { name: 'Close' }).click()
      await panel.getByRole('button', { name: 'Close' }).click()
    },
    /** Accepts the one invitation that is there. */
    async accept() {
      await page.getByRole('button', { name: 'Accept' }).click()
      await main.getByRole('textbox', { name: 'Message' }).waitFor()
    },
    async say(text: string) {
      await main.locator('.room-foot').getByRole('textbox', { name: 'Message' }).fill(text)
      await main.locator('.room-foot').getByRole('button', { name: 'Send', exact: true }).click()
    },
    said: (text: string) => main.getByRole('article').filter({ hasText: text }),
    showPanel: (name: string) => showPanel(page, name),
  }
}

async function showPanel(page: Page, name: string): Promise<void> {
  await page.getByRole('main').getByRole('button', { name, exact: true }).click()
  await page.getByRole('complementary', { name, exact: true }).waitFor()
}

/** Writes the first message of a room so many times more, as if its author had. */
export const addCopies = (svc: TestApp, room: string, count: number) =>
  svc.rows(
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
