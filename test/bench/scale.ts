import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { rollUpUsage } from '../../entities/ai/usage-report.sql.ts'
import { deleteExpiredSessions } from '../../entities/identity/session.sql.ts'
import { findPeople, findUsers } from '../../entities/identity/user.sql.ts'
import type { Client } from '../kit/postgres-client.ts'
import { openClient } from '../kit/postgres-client.ts'
import { openWith } from './ai-req.ts'
import { load, openPool } from './load.ts'
import type { Part } from './part.ts'
import { type BenchSocket, openSockets } from './sockets.ts'
import type { BenchRequest, World } from './suite.ts'

/** A measurement among few people and among many. */
export interface Growth {
  what: string
  unit: string
  few: number
  many: number
  /** The largest allowed ratio of `many` to `few`; absent for a figure without a limit. */
  most?: number
}

interface Size {
  few: number
  many: number
  sockets: number
}

const FULL: Size = { few: 1000, many: 100_000, sockets: 10_000 }
const QUICK: Size = { few: 200, many: 5000, sockets: 500 }

/** The largest factor for a request among a hundred times as many people. */
const MAX_SLOWER = 2
const ROUND_MS = 1500
const base = '/api/svc/v1'
const sealed = `aXYxMjM0NTY3ODkw|dGFnMTIzNDU2Nzg5MDEy|${'Y2lwaGVydGV4dA'.repeat(20)}`

/** The rows of a person after a year of light use, as statements over people from `$1` to `$2`. */
const lives: readonly string[] = [
  `insert into users (id, username, email, name, public_key) overriding system value
   select n, 'p' || n, 'p' || n || '@example.org', 'Person ' || n, 'a2V5' from generate_series($1::int, $2::int) n`,
  `insert into access_tokens (user_id, name, hash, abilities)
   select n, 'script', encode(sha256(('t' || n)::bytea), 'hex'), array['ai'] from generate_series($1::int, $2::int) n`,
  `insert into sessions (hash, user_id, method, signed_in_at, renewed_at, csrf_token)
   select left(encode(sha256(('s' || n)::bytea), 'hex'), 43), n, 'password', now(), now(), 'c' from generate_series($1::int, $2::int) n`,
  `insert into conversations (id, slug, user_id, name, last_seq, message_count, bytes) overriding system value
   select n * 2 + c, 'c' || n * 2 + c, n, 'A conversation', 4, 4, 1600 from generate_series($1::int, $2::int) n, generate_series(0, 1) c`,
  `insert into conversation_messages (conversation_id, seq, role, content, is_complete, bytes)
   select n * 2 + c, s, case s % 2 when 1 then 'user' else 'assistant' end, '${sealed}', true, 400
     from generate_series($1::int, $2::int) n, generate_series(0, 1) c, generate_series(1, 4) s`,
  `insert into rooms (id, name, slug) overriding system value
   select n, 'Room ' || n, 'r' || n from generate_series($1::int, $2::int) n where n % 20 = 0`,
  `insert into room_members (id, room_id, user_id, role) overriding system value
   select n, n - n % 20, n, 'editor' from generate_series($1::int, $2::int) n where n - n % 20 >= $1::int`,
  `insert into room_messages (room_id, member_id, seq, ordinal, content, key_epoch)
   select n, n, s, s, '${sealed}', 0 from generate_series($1::int, $2::int) n, generate_series(1, 40) s where n % 20 = 0`,
  `insert into usage_records (created_at, user_id, context, provider, model, outcome, duration_ms, request_id, input_tokens, output_tokens, cost_micros, currency)
   select now() - d * interval '1 day', n, 'api', 'bench', 'mock-1', 'completed', 900, 'request-' || n, 400, 200, 480, 'EUR'
     from generate_series($1::int, $2::int) n, generate_series(0, 9) d`,
]

/** Tables that grow with the use, and with which the disk fills first. */
const tables = ['users', 'access_tokens', 'sessions', 'conversation_messages', 'room_messages', 'usage_records']

/** Measures the same service among few people and among many: requests, disk, maintenance and sockets. */
export async function* measureScale(world: World, isQuick: boolean): AsyncGenerator<Growth> {
  const { few, many, sockets } = isQuick ? QUICK : FULL
  const limits = [{ name: 'each', for: 'user', cap: 1_000_000, unit: 'requests', per: 'month' }]
  const contest = await openWith(world, requestsFor, {
    limits,
    abilities: ['ai', 'read', 'write', 'user'],
    more: {
      REALTIME_CONNECTIONS_PER_PERSON: '1000',
      REVERB_APP_MAX_CONNECTIONS: '20000',
      REALTIME_HANDSHAKES_PER_SECOND: '100000',
      RATE_LIMIT_AI_PER_MINUTE: '1000000',
    },
  })
  const { subject, requests } = contest
  await using client = await openClient(world.databaseUrl)
  await prepare(client)
  await live(client, 1, few)
  const time = async () => [...(await timeRequests(subject, requests)), ...(await timeSearches(client))]
  const before = await time()
  await live(client, few + 1, many)
  const after = await time()
  for (const [index, { what, ms, most }] of after.entries())
    yield { what, unit: 'ms, p50', few: before[index]?.ms ?? 0, many: ms, ...(most && { most }) }
  for (const table of tables)
    yield { what: `a row of ${table}`, unit: 'bytes', few: Number.NaN, many: await bytesOf(client, table) }
  yield { what: 'all tables and indexes', unit: 'MB', few: Number.NaN, many: await megabytes(client) }
  yield* keepUp(client)
  yield* connect(subject, sockets, (subject.details['tokens'] ?? '').split(' '))
}

/** Existing people have lower ids. */
const FIRST = 1000

/** The existing callers are members of one large room. */
async function prepare(client: Client): Promise<void> {
  await client.query(`select setval('users_id_seq', 10000000), setval('conversations_id_seq', 10000000),
    setval('rooms_id_seq', 10000000), setval('room_members_id_seq', 10000000)`)
  await client.query(`insert into rooms (id, name, slug) overriding system value values (1, 'R', 'r1')`)
  await client.query(
    `insert into room_members (room_id, user_id, role) select 1, id, 'editor' from users where username like 'bench%'`,
  )
  await client.query(
    `insert into room_messages (room_id, member_id, seq, ordinal, content, key_epoch)
     select 1, (select min(id) from room_members where room_id = 1), n, n, '${sealed}', 0 from generate_series(1, 100) n`,
  )
}

/** Gives the people from the first to the last a history of use. */
async function live(client: Client, first: number, last: number): Promise<void> {
  for (const text of lives) await client.query(text, [FIRST + first, FIRST + last])
  await client.query('vacuum analyze')
}

const requestsFor = (tokens: readonly string[]): BenchRequest[] => {
  const headers = { authorization: `Bearer ${tokens[0]}` }
  const get = (name: string, path: string) =>
    ({ name, method: 'GET', path: base + path, headers, tokens, isWhole: (end: string) => end.endsWith('}') }) as const
  const question = { payload: { model: 'mock-1', messages: [{ role: 'user', content: { text: 'Well?' } }] } }
  return [
    {
      name: 'ask a model, under a limit',
      method: 'POST',
      path: '/api/ai-req',
      headers: { 'content-type': 'application/json' },
      tokens,
      body: JSON.stringify(question),
      isWhole: (end) => end.endsWith('}'),
    },
    get('newest 50 of a room', '/rooms/1/messages?sort=-number&page[size]=50'),
    get('own rooms', '/rooms'),
    { ...get('own usage of a month', ''), path: '/trpc/usage.summary?input=%7B%7D' },
  ]
}

/** Median in milliseconds. */
interface Timed {
  what: string
  ms: number
  most?: number
}

async function timeRequests({ url }: Part, requests: readonly BenchRequest[]): Promise<Timed[]> {
  const found: Timed[] = []
  for (const request of requests) {
    const pool = openPool(url, 4)
    // The first ones fill caches and plans.
    await load(pool, request, 4, ROUND_MS)
    const { times } = await load(pool, request, 4, ROUND_MS)
    found.push({ what: request.name, ms: times[Math.floor(times.length / 2)] ?? Number.NaN, most: MAX_SLOWER })
    await pool.close()
  }
  return found
}

/** Statements that read all people by design, run a few times a minute; one at a time. */
async function timeSearches(client: Client): Promise<Timed[]> {
  const searches: [string, string, unknown[]][] = [
    ['statement: find somebody to invite', findPeople.text, ['Person 77', 2, 1]],
    ['statement: a page of people', findUsers('username').text, ['', null, null, null, null, 51, 0]],
    ['statement: people by a part of a name', findUsers('username').text, ['rson 77', null, null, null, null, 51, 0]],
  ]
  const found: Timed[] = []
  for (const [what, text, values] of searches) {
    const times: number[] = []
    for (let round = 0; round < 11; round++) times.push(1000 * (await secondsOf(() => client.query(text, values))))
    found.push({ what, ms: times.toSorted((one, other) => one - other)[5] ?? Number.NaN })
  }
  return found
}

async function bytesOf(client: Client, table: string): Promise<number> {
  const text = `select pg_total_relation_size('${table}') / greatest(count(*), 1)::float8 as bytes from ${table}`
  return (await client.query<{ bytes: number }>(text)).rows[0]?.bytes ?? Number.NaN
}

async function megabytes(client: Client): Promise<number> {
  const text = `select pg_database_size(current_database()) / 1e6::float8 as size`
  return (await client.query<{ size: number }>(text)).rows[0]?.size ?? Number.NaN
}

/** Work beside the requests, once for each number of rows. */
async function* keepUp(client: Client): AsyncGenerator<Growth> {
  const { rows } = await client.query<{ day: string; count: number }>(
    `select to_char(min(created_at at time zone 'utc'), 'YYYY-MM-DD') as day, (count(*) / 10)::int as count from usage_records`,
  )
  const [{ day, count } = { day: '', count: 0 }] = rows
  const rolled = await secondsOf(() => client.query(rollUpUsage.text, [day]))
  yield { what: `roll up a day of ${count} calls`, unit: 's', few: Number.NaN, many: rolled }
  const { rowCount } = await client.query(`update sessions set renewed_at = now() - interval '1 year'`)
  const deleted = await secondsOf(async () => {
    while ((await client.query(deleteExpiredSessions.text, [new Date(), 1000])).rowCount);
  })
  yield { what: `delete ${rowCount} expired sessions`, unit: 's', few: Number.NaN, many: deleted }
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await work()
  return (performance.now() - begun) / 1000
}

/** Opens sockets on one process, a hundredth of them first, and sends one message to all of them. */
async function* connect(part: Part, sockets: number, tokens: readonly string[]): AsyncGenerator<Growth> {
  const tell = (few: number, many: number, what: string, unit: string): Growth => ({ what, unit, few, many })
  const [first, second] = [sockets / 100, sockets - sockets / 100]
  const open = async (count: number) => {
    const before = await part.heap()
    await part.watch()
    let opened: BenchSocket[] = []
    const seconds = await secondsOf(async () => {
      opened = await openSockets(part.url, count, tokens)
    })
    const { cpu } = await part.seen()
    await pause(SETTLE_MS)
    const kilobytes = (((await part.heap()) - before) * 1000) / count
    return { opened, seconds, each: { kilobytes, cpu: cpu / count } }
  }
  const few = await open(first)
  const toldFew = await tellAll(part, few.opened, tokens)
  const many = await open(second)
  const all = [...few.opened, ...many.opened]
  const toldMany = await tellAll(part, all, tokens)
  yield tell(first / few.seconds, second / many.seconds, `sockets opened, of ${sockets}`, 'a second')
  yield tell(few.each.cpu, many.each.cpu, 'processor time to open one', 'ms')
  yield tell(few.each.kilobytes, many.each.kilobytes, 'heap of one', 'KB')
  yield tell(toldFew.ms, toldMany.ms, 'a message until the last is told', 'ms')
  yield tell(toldFew.delay, toldMany.delay, 'longest time without a turn meanwhile', 'ms')
  for (const socket of all) socket.drop()
}

/** Milliseconds after which the memory used to open them is released. */
const SETTLE_MS = 6000

async function tellAll(part: Part, sockets: readonly BenchSocket[], [token]: readonly string[]) {
  const { promise, resolve } = Promise.withResolvers<void>()
  let left = sockets.length
  for (const socket of sockets)
    socket.onEvent = (event) => {
      if (event === 'change' && --left === 0) resolve()
    }
  await part.watch()
  const begun = performance.now()
  const { statusCode, body } = await request(`${part.url}${base}/room-messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' },
    body: JSON.stringify({
      data: {
        type: 'room-messages',
        attributes: { content: sealed },
        relationships: { room: { data: { type: 'rooms', id: '1' } } },
      },
    }),
  })
  await body.dump()
  if (statusCode !== 201) throw new Error(`A message was answered by ${statusCode}.`)
  await promise
  return { ms: performance.now() - begun, delay: (await part.seen()).delay }
}

export const scaleHeading =
  '\nscale: one process among few people and among a hundred times as many, on one PostgreSQL\n\n'

export function scaleRow({ what, unit, few, many, most }: Growth): string {
  const number = (value: number) => (Number.isNaN(value) ? '' : value.toFixed(2)).padStart(12)
  const verdict = most === undefined ? '' : `at most ${most} times: ${isMet({ few, many, most }) ? 'met' : 'NOT MET'}`
  return `${what.padEnd(44)} ${number(few)} ${number(many)} ${unit.padEnd(10)} ${verdict}\n`
}

const isMet = ({ few, many, most }: { few: number; many: number; most: number }) => many <= most * few
