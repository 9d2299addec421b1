import { openClient } from '../kit/postgres-client.ts'
import { openWith, questionRequests } from './ai-req.ts'
import { assertSame } from './same.ts'
import { type BenchRequest, type Contest, type Suite, throughput, type World } from './suite.ts'

const PAGE = 'page of 20 with 20 kB'
const MESSAGES = 100
const MESSAGE_BYTES = 20_000

/** Fills a room with long messages. */
async function fill(databaseUrl: string): Promise<void> {
  await using client = await openClient(databaseUrl)
  await client.query(`insert into rooms (name, slug) values ('R', 'r')`)
  await client.query(
    `insert into room_members (room_id, user_id, role)
     select r.id, u.id, 'editor' from rooms r, users u where u.username like 'bench%'`,
  )
  await client.query(
    `insert into room_messages (room_id, member_id, seq, ordinal, content, key_epoch)
     select m.room_id, m.id, n, n,
            'iv|tag|' || (select string_agg(md5(n || '.' || part), '') from generate_series(1, ${MESSAGE_BYTES / 32}) part), 0
       from (select room_id, min(id) as id from room_members group by room_id) m, generate_series(1, ${MESSAGES}) n`,
  )
  await client.query('vacuum analyze')
}

const pageRequest = (tokens: readonly string[]): BenchRequest => ({
  name: PAGE,
  method: 'GET',
  path: '/api/svc/v1/rooms/1/messages?sort=-number&page[size]=20',
  headers: { authorization: `Bearer ${tokens[0]}` },
  tokens,
  isWhole: (end) => end.endsWith('}'),
})

async function open(world: World): Promise<Contest> {
  const contest = await openWith(world, questionRequests, { abilities: ['ai', 'read'] })
  const { subject } = contest
  await fill(world.databaseUrl)
  const floor = await world.start('rooms-floor.ts', { databaseUrl: world.databaseUrl })
  const page = { ...pageRequest((subject.details['tokens'] ?? '').split(' ')), floor }
  await assertSame({ subject, floor, requests: [page] })
  return { ...contest, requests: [...contest.requests, page] }
}

export const singleCaller: Suite = {
  name: 'single-caller',
  about: 'A question, and a page of long messages, while nobody else asks: what one caller waits for',
  open,
  concurrencies: [1],
  wanted: [
    { ...throughput(0.2, ({ request }) => request !== PAGE), what: 'a question at least 0.2 of the floor' },
    { ...throughput(0.45, ({ request }) => request === PAGE), what: 'a page at least 0.45 of the floor' },
  ],
}
