import { openClient } from '../kit/postgres-client.ts'
import { assertSame } from './same.ts'
import type { SubjectInput } from './subject.ts'
import { type BenchRequest, type Contest, type Suite, throughput, type World } from './suite.ts'

const base = '/api/svc/v1'
const MESSAGES = 1_000_000
const CHECKED_MESSAGES = 1000
const ROOMS = 200
const mediaType = 'application/vnd.api+json'
const content = `aXYxMjM0NTY3ODkw|dGFnMTIzNDU2Nzg5MDEy|${'Y2lwaGVydGV4dA'.repeat(20)}`

/** The first room has most of the messages, and a log as long as is kept; nobody has written in the last one. */
async function fill({ databaseUrl, isCheck }: World): Promise<void> {
  const messages = isCheck ? CHECKED_MESSAGES : MESSAGES
  await using client = await openClient(databaseUrl)
  await client.query(`insert into rooms (name, slug) select 'R', 'r' || n from generate_series(1, ${ROOMS}) n`)
  await client.query(
    `insert into room_members (room_id, user_id, role)
     select r.id, u.id, 'editor' from rooms r, users u where u.username like 'bench%'`,
  )
  await client.query(
    `insert into room_messages (room_id, member_id, seq, ordinal, content, key_epoch)
     select m.room_id, m.id, n, n, '${content}', 0
       from (select room_id, min(id) as id from room_members where room_id < ${ROOMS} group by room_id) m,
            generate_series(1, case when m.room_id = 1 then ${messages} else 100 end) n`,
  )
  await client.query(`insert into change_streams (stream, seq) values ('room:1', 100000)`)
  await client.query(
    `insert into change_log (stream, seq, kind, subject)
     select 'room:1', n, 'room-messages.created', n::text from generate_series(1, 100000) n`,
  )
  await client.query('vacuum analyze')
}

/** The epoch is part of the address, and that of the database alone. */
async function requests(url: string, tokens: readonly string[]): Promise<BenchRequest[]> {
  const isWhole = (end: string) => end.endsWith('}')
  const headers = { authorization: `Bearer ${tokens[0]}` }
  const begin = await fetch(`${url}${base}/rooms/1/actions/changes`, { headers })
  const { meta } = (await begin.json()) as { meta: { position: string } }
  const [epoch] = meta.position.split(':')
  const relationships = { room: { data: { type: 'rooms', id: String(ROOMS) } } }
  return [
    {
      name: 'send a message',
      method: 'POST',
      path: `${base}/room-messages`,
      headers: { ...headers, 'content-type': mediaType },
      tokens,
      body: JSON.stringify({ data: { type: 'room-messages', attributes: { content }, relationships } }),
      isWhole,
    },
    {
      name: 'newest 50 of a million',
      method: 'GET',
      path: `${base}/rooms/1/messages?sort=-number&page[size]=50`,
      headers,
      tokens,
      isWhole,
    },
    {
      name: '500 changes',
      method: 'GET',
      path: `${base}/rooms/1/actions/changes?page[after]=${epoch}:50000`,
      headers,
      tokens,
      isWhole,
    },
  ]
}

async function open(world: World): Promise<Contest> {
  const { databaseUrl, folder, start } = world
  const settings = { DATABASE_URL: databaseUrl, DATA_DIR: `${folder}/data`, PORT: '0' }
  const subject = await start<SubjectInput>('subject.ts', {
    settings,
    temporaryDir: folder,
    abilities: ['read', 'write'],
  })
  await fill(world)
  const floor = await start('rooms-floor.ts', { databaseUrl })
  const all = await requests(subject.url, (subject.details['tokens'] ?? '').split(' '))
  await assertSame({ subject, floor, requests: all.filter(({ method }) => method === 'GET') })
  return { subject, floor, requests: all }
}

const at10 = (request: string) => (comparison: { request: string; concurrency: number }) =>
  comparison.concurrency === 10 && comparison.request === request

export const rooms: Suite = {
  name: 'rooms',
  about: 'Messages of rooms, beside the least program with the same inserts under the same lock',
  open,
  wanted: [
    { ...throughput(0.5, at10('send a message')), what: 'a message sent at least 0.5 of the floor' },
    { ...throughput(0.65, at10('newest 50 of a million')), what: 'the newest 50 at least 0.65 of the floor' },
  ],
}
