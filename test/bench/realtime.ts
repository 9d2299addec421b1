import { setTimeout as pause } from 'node:timers/promises'
import { request } from 'undici'
import { openClient } from '../kit/postgres-client.ts'
import { idleMemory, openStreams } from './idle-memory.ts'
import type { Part } from './part.ts'
import { type BenchSocket, openSockets, untilOpen } from './sockets.ts'
import type { SubjectInput } from './subject.ts'
import type { World } from './suite.ts'

const SUBSCRIBERS = 100
const ROUNDS = 7
/** Client events of a round: each socket may send ten a second. */
const EVENTS = 300
const POSTS = 60
const IDLE = 2000
/** The largest factor of an idle event stream's memory over an idle socket of the floor. */
const MAX_STREAM = 24

/** One figure beside that of the least program. */
export interface Figure {
  what: string
  unit: string
  subject: number
  floor: number
  ratio: number
  wanted: string
  isMet: boolean
}

/** The measured part, and the tokens of people who may subscribe. */
interface Side {
  part: Part
  tokens: readonly string[]
}

/** Measures what sockets cost and how soon they are told, beside the least program in the same run. */
export async function* measureRealtime(world: World): AsyncGenerator<Figure> {
  const { subject, floor } = await open(world)
  const sides = [subject, floor] as const
  const sockets = await Promise.all(sides.map(({ part, tokens }) => openSockets(part.url, SUBSCRIBERS, tokens)))
  const [fans, posts] = [await inTurns(sides, sockets, fanOut), await inTurns(sides, sockets, postToLast)]
  yield figure('fan-out to 100', 'us CPU a packet', fans, 1 / 0.85)
  yield figure('post to last, p99', 'ms', posts, 2)
  for (const socket of sockets.flat()) socket.drop()
  await pause(500)
  const idleSockets = ({ part, tokens }: Side) => idleMemory(part, () => openSockets(part.url, IDLE, tokens))
  const [own, bare] = [await idleSockets(subject), await idleSockets(floor)]
  yield figure('idle socket', 'KB heap', [[own.kilobytes], [bare.kilobytes]], 2)
  yield* reconnect(subject, own.opened)
  for (const socket of bare.opened) socket.drop()
  const { part, tokens } = subject
  const streams = await idleMemory(part, () => openStreams(part.url, IDLE, tokens))
  yield figure('idle stream, beside a bare socket', 'KB heap', [[streams.kilobytes], [bare.kilobytes]], MAX_STREAM)
  for (const request of streams.opened) request.destroy()
}

async function open({ databaseUrl, folder, start }: World): Promise<{ subject: Side; floor: Side }> {
  const settings = {
    DATABASE_URL: databaseUrl,
    DATA_DIR: `${folder}/data`,
    PORT: '0',
    REALTIME_CONNECTIONS_PER_PERSON: '200',
  }
  const part = await start<SubjectInput>('subject.ts', { settings, temporaryDir: folder, abilities: ['read', 'write'] })
  await using client = await openClient(databaseUrl)
  await client.query(`insert into rooms (name, slug) values ('R', 'r1')`)
  await client.query(
    `insert into room_members (room_id, user_id, role)
     select r.id, u.id, 'editor' from rooms r, users u where u.username like 'bench%'`,
  )
  const tokens = (part.details['tokens'] ?? '').split(' ')
  const floor = await start('realtime-floor.ts', { databaseUrl })
  return { subject: { part, tokens }, floor: { part: floor, tokens: [] } }
}

/** Measures both in the same moments, round by round. */
async function inTurns(
  sides: readonly Side[],
  sockets: readonly BenchSocket[][],
  measure: (side: Side, sockets: BenchSocket[]) => Promise<number[]>,
): Promise<number[][]> {
  const found: number[][] = sides.map(() => [])
  for (let round = 0; round <= ROUNDS; round++)
    for (const [index, side] of sides.entries()) {
      const values = await measure(side, sockets[index] ?? [])
      // The first one warms up.
      if (round > 0) found[index]?.push(...values)
    }
  return found
}

/** Lets each socket send to all others; resolves with microseconds of processor time per delivered packet. */
async function fanOut({ part }: Side, sockets: BenchSocket[]): Promise<number[]> {
  const packets = EVENTS * (sockets.length - 1)
  const events = countEvents(sockets, 'client-typing', packets)
  await part.watch()
  for (let n = 0; n < EVENTS; n++) {
    sockets[n % sockets.length]?.send('client-typing', { user: 'somebody', typing: true })
    if (n % sockets.length === 0) await pause(5)
  }
  await events
  return [((await part.seen()).cpu * 1000) / packets]
}

/** Milliseconds from each post to the moment when the last socket was told of it. */
async function postToLast({ part, tokens }: Side, sockets: BenchSocket[]): Promise<number[]> {
  const times: number[] = []
  for (let n = 0; n < POSTS; n++) {
    const events = countEvents(sockets, 'change', sockets.length)
    const begun = performance.now()
    const posted = post(part.url, tokens[n % tokens.length])
    await events
    times.push(performance.now() - begun)
    await posted
  }
  return [percentile(times, 0.99)]
}

function countEvents(sockets: readonly BenchSocket[], name: string, wanted: number): Promise<void> {
  let left = wanted
  const { promise, resolve } = Promise.withResolvers<void>()
  for (const socket of sockets)
    socket.onEvent = (event) => {
      if (event !== name) return
      left -= 1
      if (left === 0) resolve()
    }
  return promise
}

const content = `aXYxMjM0NTY3ODkw|dGFnMTIzNDU2Nzg5MDEy|${'Y2lwaGVydGV4dA'.repeat(20)}`
const relationships = { room: { data: { type: 'rooms', id: '1' } } }

async function post(url: string, token: string | undefined): Promise<void> {
  const { statusCode, body } = await request(`${url}/api/svc/v1/room-messages`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' },
    body: JSON.stringify({ data: { type: 'room-messages', attributes: { content }, relationships } }),
  })
  await body.dump()
  if (statusCode !== 201) throw new Error(`A message was answered by ${statusCode}.`)
}

/** Closes and reopens all sockets at once, while another client sends requests all the time. */
async function* reconnect({ part, tokens }: Side, sockets: readonly BenchSocket[]): AsyncGenerator<Figure> {
  for (const socket of sockets) socket.drop()
  let isOver = false
  const statuses: number[] = []
  const reading = (async () => {
    while (!isOver) {
      const headers = { authorization: `Bearer ${tokens[0]}` }
      const { statusCode, body } = await request(`${part.url}/api/svc/v1/rooms`, { headers })
      await body.dump()
      statuses.push(statusCode)
    }
  })()
  const begun = performance.now()
  const back = await Promise.all(sockets.map((_, n) => untilOpen(part.url, tokens[n % tokens.length])))
  const seconds = (performance.now() - begun) / 1000
  isOver = true
  await reading
  for (const socket of back) socket.drop()
  const refused = statuses.filter((status) => status !== 200).length
  yield count('sockets that came back of 2000', back.length, back.length === IDLE)
  yield count('seconds until all were back', seconds, true)
  yield count(`requests refused of ${statuses.length} meanwhile`, refused, refused === 0)
}

const count = (what: string, subject: number, isMet: boolean): Figure => ({
  what,
  unit: '',
  subject,
  floor: Number.NaN,
  ratio: Number.NaN,
  wanted: isMet ? '' : 'all, and none refused',
  isMet,
})

function figure(what: string, unit: string, [own = [], bare = []]: number[][], most: number): Figure {
  const [subject, floor] = [median(own), median(bare)]
  const ratio = median(own.map((value, index) => value / (bare[index] ?? 0)))
  return { what, unit, subject, floor, ratio, wanted: `at most ${most.toFixed(2)}`, isMet: ratio <= most }
}

const percentile = (values: readonly number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN
const median = (values: readonly number[]) => percentile(values, 0.5)

export const realtimeHeading =
  '\nrealtime: sockets of one room, beside a bare program on ws that builds each frame once\n\n'

export function realtimeRow({ what, unit, subject, floor, ratio, wanted, isMet }: Figure): string {
  const number = (value: number) => (Number.isNaN(value) ? '' : value.toFixed(2)).padStart(10)
  const verdict = isMet ? 'met' : 'NOT MET'
  return `${what.padEnd(40)} ${number(subject)} ${number(floor)} ${unit.padEnd(16)} ${number(ratio)}  ${wanted.padEnd(14)} ${verdict}\n`
}
