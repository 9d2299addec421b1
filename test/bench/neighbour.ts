import { openClient } from '../kit/postgres-client.ts'
import type { BurstInput } from './burst.ts'
import { load, openPool } from './load.ts'
import type { Figure } from './realtime.ts'
import type { SubjectInput } from './subject.ts'
import type { BenchRequest, World } from './suite.ts'

const base = '/api/svc/v1'
const ROOMS = 50
const MESSAGES = 100
const MAX_RATIO = 5
const content = `aXYxMjM0NTY3ODkw|dGFnMTIzNDU2Nzg5MDEy|${'Y2lwaGVydGV4dA'.repeat(20)}`

/** Every room has two people: one who sends bursts of requests, and their neighbour. */
async function fill(databaseUrl: string): Promise<void> {
  await using client = await openClient(databaseUrl)
  await client.query(`insert into rooms (name, slug) select 'R', 'r' || n from generate_series(1, ${ROOMS}) n`)
  await client.query(
    `insert into room_members (room_id, user_id, role)
     select r.id, u.id, 'editor' from rooms r, users u where u.username in ('bench0', 'bench1')`,
  )
  await client.query(
    `insert into room_messages (room_id, member_id, seq, ordinal, content, key_epoch)
     select m.room_id, m.id, n, n, '${content}', 0
       from (select room_id, min(id) as id from room_members group by room_id) m, generate_series(1, ${MESSAGES}) n`,
  )
  await client.query('vacuum analyze')
}

const messageTo = (room: number) =>
  JSON.stringify({
    data: {
      type: 'room-messages',
      attributes: { content },
      relationships: { room: { data: { type: 'rooms', id: `${room}` } } },
    },
  })

type Burst = Pick<BurstInput, 'method' | 'path' | 'bodies'>

const bursts: [string, Burst][] = [
  ['300 writes in one room', { method: 'POST', path: `${base}/room-messages`, bodies: [messageTo(1)] }],
  [
    '300 writes in many rooms',
    {
      method: 'POST',
      path: `${base}/room-messages`,
      bodies: Array.from({ length: ROOMS }, (_, n) => messageTo(n + 1)),
    },
  ],
  ['300 lists', { method: 'GET', path: `${base}/rooms/1/messages?sort=-number&page[size]=50`, bodies: [] }],
]

/** Measures the latency of a reader in a room where another person sends bursts of requests. */
export async function* measureNeighbour(world: World, seconds: number): AsyncGenerator<Figure> {
  const { databaseUrl, folder, start } = world
  const settings = { DATABASE_URL: databaseUrl, DATA_DIR: `${folder}/data`, PORT: '0' }
  const subject = await start<SubjectInput>('subject.ts', {
    settings,
    temporaryDir: folder,
    abilities: ['read', 'write'],
  })
  await fill(databaseUrl)
  const [token = '', neighbour] = (subject.details['tokens'] ?? '').split(' ')
  const reading: BenchRequest = {
    name: 'read',
    method: 'GET',
    path: `${base}/rooms/1/messages?sort=-number&page[size]=20`,
    headers: { authorization: `Bearer ${neighbour}` },
    isWhole: (end) => end.endsWith('}'),
  }
  const pool = openPool(subject.url, 1)
  await load(pool, reading, 1, 2000)
  for (const [what, burst] of bursts) {
    const quiet = await readFor(seconds)
    const sender = await start<BurstInput>('burst.ts', { url: subject.url, token, ...burst })
    const busy = await readFor(seconds)
    await sender.stop()
    const ratio = busy / quiet
    yield {
      what: `p99 beside ${what}`,
      unit: 'ms',
      subject: busy,
      floor: quiet,
      ratio,
      wanted: `at most ${MAX_RATIO.toFixed(2)}`,
      isMet: ratio <= MAX_RATIO,
    }
  }
  await pool.close()

  async function readFor(length: number): Promise<number> {
    const { times } = await load(pool, reading, 1, length * 1000)
    return times[Math.floor(times.length * 0.99)] ?? Number.NaN
  }
}

export const neighbourHeading =
  '\nneighbour: what somebody waits for while another person has 300 requests at once, beside a quiet moment of the same run\n\n'
