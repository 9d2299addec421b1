import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { openClient } from '../kit/postgres-client.ts'
import { addCopies, roomControls } from '../kit/web/rooms.ts'
import type { Figure } from './realtime.ts'

const [WRITERS, A_SECOND, HISTORY, SLOWER] = [20, 10, 5000, 4]
/** Milliseconds to wait, as the one-time work of opening a room is not measured. */
const WARM_UP_SECONDS = 5
const MOST_SEARCH_SECONDS = 20

const text =
  'One of **many** messages, with `code` and a [link](https://example.org/), as people write them to each other.'

/** Counts how often the room is drawn. */
const countRenders = `
  globalThis.renders = 0
  new MutationObserver(() => { renders += 1 })
    .observe(document.querySelector('main'), { subtree: true, childList: true, characterData: true, attributes: true })
`

/** Tasks of the threads of a page as they stand in a trace. */
const TASKS = 'disabled-by-default-devtools.timeline'

interface RoomInput {
  /** Somebody who is signed in, with keys. */
  page: Page
  databaseUrl: string
  /** Tokens of people who write. */
  tokens: readonly string[]
  seconds: number
}

/** The costs of a room in a slow browser while twenty people write. */
export async function* measureRoom({ page, databaseUrl, tokens, seconds }: RoomInput): AsyncGenerator<Figure> {
  await page.goto('/rooms')
  const controls = roomControls(page)
  await controls.createRoom('Square')
  await controls.say(text)
  await page.locator('article[id]').waitFor()
  const write = await openWriters(page, databaseUrl, tokens)
  await page.reload()
  await page.locator('article[id]').first().waitFor()

  const debug = await page.context().newCDPSession(page)
  await debug.send('Emulation.setCPUThrottlingRate', { rate: SLOWER })
  const search = await trace(page, () => searchAll(page))
  yield bounded('5,000 messages read and searched', 's, 4x slower', search.seconds, MOST_SEARCH_SECONDS)
  yield bounded('longest task meanwhile', 'ms, 4x slower', search.longest, 200)

  await write(WARM_UP_SECONDS)
  await page.evaluate(countRenders)
  const writing = await trace(page, () => write(seconds))
  const renders = await page.evaluate<number>('renders')
  await debug.send('Emulation.setCPUThrottlingRate', { rate: 1 })
  yield bounded('renders of a room, 10 messages a second', 'a second', renders / writing.seconds, 3)
  yield bounded('longest task meanwhile', 'ms, 4x slower', writing.longest, 200)
}

async function searchAll(page: Page): Promise<void> {
  await page.getByRole('main').getByRole('button', { name: 'Search', exact: true }).click()
  const panel = page.getByRole('complementary', { name: 'Search' })
  await panel.getByRole('searchbox').fill('messages')
  await panel.getByRole('button', { name: 'Search the whole history' }).click()
  await panel.getByText('All 5,001 messages were searched.').waitFor()
  await panel.getByRole('button', { name: 'Close' }).click()
}

/** Measures a duration and the longest task of the page in it. */
async function trace(page: Page, act: () => Promise<void>): Promise<{ seconds: number; longest: number }> {
  const browser = page.context().browser()
  await browser?.startTracing(page, { categories: [TASKS] })
  const begun = performance.now()
  await act()
  const seconds = (performance.now() - begun) / 1000
  return { seconds, longest: findLongestTask((await browser?.stopTracing())?.toString() ?? '') }
}

interface TraceEvent {
  name: string
  pid: number
  tid: number
  /** Microseconds of the processor, where they are told. */
  tdur?: number
  args?: { name?: string }
}

/** Milliseconds of the processor, so that others on this machine do not count, of the thread that draws pages. */
function findLongestTask(text: string): number {
  const { traceEvents } = JSON.parse(text) as { traceEvents: TraceEvent[] }
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid}/${tid}`
  const names = traceEvents.filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
  const threads = new Set(names.map(threadOf))
  const tasks = traceEvents.filter((event) => event.name === 'RunTask' && threads.has(threadOf(event)))
  return Math.max(0, ...tasks.map(({ tdur = 0 }) => tdur)) / 1000
}

/** Fills the room, and returns a function that lets its people write for so many seconds. */
async function openWriters(page: Page, databaseUrl: string, tokens: readonly string[]) {
  await using client = await openClient(databaseUrl)
  const rows = async <Row>(statement: string, values?: unknown[]) =>
    (await client.query(statement, values)).rows as Row[]
  await addCopies({ rows }, 'Square', HISTORY)
  const [room] = await rows<{ id: string; content: string }>(
    `select r.id::text as id, m.content from rooms r join room_messages m on m.room_id = r.id where r.name = 'Square' limit 1`,
  )
  const { id = '', content = '' } = room ?? {}
  await rows(
    `insert into room_members (room_id, user_id, role)
      select $1, id, 'editor' from users where username like 'bench%' order by id limit $2`,
    [id, WRITERS],
  )
  const url = new URL('/trpc/roomMessages.create', page.url())
  const send = async (token: string) => {
    const message = { room: id, clientId: randomUUID(), content, keyEpoch: 0, thread: null, attachments: [] }
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(message) })
    if (!answer.ok) throw new Error(`A message was refused: ${answer.status} ${await answer.text()}`)
    await answer.arrayBuffer()
  }
  return async (seconds: number) => {
    const sending: Promise<void>[] = []
    for (let n = 0; n < seconds * A_SECOND; n++) {
      sending.push(send(tokens[n % WRITERS] ?? ''))
      await pause(1000 / A_SECOND)
    }
    await Promise.all(sending)
  }
}

/** A figure without a floor. */
export const bounded = (what: string, unit: string, subject: number, most: number): Figure => ({
  what,
  unit,
  subject,
  floor: Number.NaN,
  ratio: Number.NaN,
  wanted: `at most ${most}`,
  isMet: subject <= most,
})
