import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { openClient } from '../kit/postgres-client.ts'
import { addCopies, roomControls } from '../kit/web/rooms.ts'
import type { Figure } from './realtime.ts'

const [WRITERS, A_SECOND, HISTORY, SLOWER] = [20, 10, 1000, 4]
/** What a browser does once when a room is opened is not what is measured. */
const WARM_UP_SECONDS = 5

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

/** What a room takes of a slow browser while twenty people write in it. */
export async function* measureRoom({ page, databaseUrl, tokens, seconds }: RoomInput): AsyncGenerator<Figure> {
  await page.goto('/rooms')
  const controls = roomControls(page)
  await controls.createRoom('Square')
  await controls.say(text)
  await page.locator('.room-message[id]').waitFor()
  const write = await openWriters(page, databaseUrl, tokens)
  await page.reload()
  await page.locator('.room-message[id]').first().waitFor()

  const debug = await page.context().newCDPSession(page)
  await debug.send('Emulation.setCPUThrottlingRate', { rate: SLOWER })
  await write(WARM_UP_SECONDS)
  await page.evaluate(countRenders)
  const browser = page.context().browser()
  await browser?.startTracing(page, { categories: [TASKS] })
  const begun = performance.now()
  await write(seconds)
  const passed = (performance.now() - begun) / 1000
  const renders = await page.evaluate<number>('renders')
  const tasks = readTasks((await browser?.stopTracing())?.toString() ?? '')
  await debug.send('Emulation.setCPUThrottlingRate', { rate: 1 })
  yield bounded('renders of a room, 10 messages a second', 'a second', renders / passed, 3)
  yield bounded('longest task meanwhile', 'ms, 4x slower', Math.max(0, ...tasks), 200)
}

interface TraceEvent {
  name: string
  /** Microseconds of the processor, where it is told. */
  tdur?: number
}

/** Milliseconds of the processor that each task took, so that others on this machine do not count. */
function readTasks(trace: string): number[] {
  const { traceEvents } = JSON.parse(trace) as { traceEvents: TraceEvent[] }
  return traceEvents.flatMap(({ name, tdur }) => (name === 'RunTask' && tdur !== undefined ? [tdur / 1000] : []))
}

/** Fills the room, and returns what has its people write for so many seconds. */
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

/** A figure that no floor stands beside. */
export const bounded = (what: string, unit: string, subject: number, most: number): Figure => ({
  what,
  unit,
  subject,
  floor: Number.NaN,
  ratio: Number.NaN,
  wanted: `at most ${most}`,
  isMet: subject <= most,
})
