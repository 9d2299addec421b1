import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { Pool } from 'undici'
import { openClient } from '../../kit/postgres-client.ts'
import { PNG } from '../../kit/rooms/attachments.ts'
import type { Part } from '../part.ts'
import type { Figure } from '../realtime.ts'
import type { SubjectInput } from '../subject.ts'
import type { World } from '../suite.ts'

const MB = 1_000_000
const BYTES = 10 * MB
const AT_ONCE = 4
const MANY = 50
const LEAST_SPEED = 0.6
const MOST_MEMORY = 60
const base = '/api/svc/v1/attachments'

/** Starts like a picture, so that its type is known and no text is extracted. */
const file = Buffer.concat([PNG.subarray(0, PNG.indexOf('IDAT') + 4), randomBytes(BYTES)])
const form = Buffer.concat([
  Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n'),
  file,
  Buffer.from('\r\n--b--\r\n'),
])

interface Side {
  part: Part
  tokens: readonly string[]
  pool: Pool
  /** Megabytes that were held before the first file came. */
  idle: number
}

/** Sends files of 10 MB to the service and gets them back, beside the least program in the same run. */
export async function* measureTransfer(world: World, rounds: number): AsyncGenerator<Figure> {
  const sides = await open(world)
  for (const [what, run] of Object.entries({ upload, download })) {
    const speeds = await inTurns(sides, rounds, (side) => speed(side, run))
    yield speedFigure(`${what} of 10 MB, ${AT_ONCE} at once`, speeds)
    const growths = await inTurns(sides, Math.ceil(rounds / 2), (side) => growth(side, run))
    yield memoryFigure(`${what} of 10 MB, ${MANY} at once, beyond idle`, growths)
  }
  for (const { pool } of sides) await pool.close()
}

async function open({ databaseUrl, folder, start }: World): Promise<[Side, Side]> {
  const settings = {
    DATABASE_URL: databaseUrl,
    DATA_DIR: `${folder}/data`,
    PORT: '0',
    ATTACHMENT_QUOTA: `${1000 * BYTES}`,
    UPLOADS_AT_ONCE: `${MANY}`,
    MAX_FILE_SIZE: `${2 * BYTES}`,
    ALLOWED_FILE_MIME_TYPES: 'image/png',
  }
  const subject = await start<SubjectInput>('subject.ts', {
    settings,
    temporaryDir: folder,
    abilities: ['read', 'write'],
  })
  await mkdir(`${folder}/floor`)
  const floor = await start('files/floor.ts', { databaseUrl, folder: `${folder}/floor` })
  const tokens = (subject.details['tokens'] ?? '').split(' ')
  await using client = await openClient(databaseUrl)
  await client.query('delete from attachments')
  const sideOf = async (part: Part): Promise<Side> => {
    const pool = new Pool(part.url, { connections: MANY, pipelining: 1 })
    return { part, tokens, pool, idle: await heldBy(part) }
  }
  return [await sideOf(subject), await sideOf(floor)]
}

/** Measures both concurrently, round by round; the first round warms up. */
async function inTurns(
  sides: readonly [Side, Side],
  rounds: number,
  measure: (side: Side) => Promise<number>,
): Promise<[own: number, bare: number][]> {
  const found: [number, number][] = []
  for (let round = 0; round <= rounds; round++) found.push([await measure(sides[0]), await measure(sides[1])])
  return found.slice(1)
}

type Run = (side: Side, which: number) => Promise<void>

/** Megabytes a second. */
async function speed(side: Side, run: Run): Promise<number> {
  const begun = performance.now()
  await Promise.all(Array.from({ length: AT_ONCE }, (_, which) => run(side, which)))
  return (AT_ONCE * BYTES) / MB / ((performance.now() - begun) / 1000)
}

/** Megabytes at most beyond those of a process that was never used. */
async function growth(side: Side, run: Run): Promise<number> {
  await heldBy(side.part)
  await Promise.all(Array.from({ length: MANY }, (_, which) => run(side, which)))
  return (await side.part.usage()).peak - side.idle
}

/** Resets the peak memory of a process. */
async function heldBy(part: Part): Promise<number> {
  await part.watch()
  return (await part.usage()).peak
}

const headersOf = ({ tokens }: Side, which: number) => ({ authorization: `Bearer ${tokens[which % tokens.length]}` })

async function upload(side: Side, which: number): Promise<void> {
  await send(side, which)
}

async function send(side: Side, which: number): Promise<string> {
  const { statusCode, body } = await side.pool.request({
    method: 'POST',
    path: `${base}/actions/upload`,
    headers: { ...headersOf(side, which), 'content-type': 'multipart/form-data; boundary=b' },
    body: form,
  })
  const text = await body.text()
  if (statusCode !== 201) throw new Error(`An upload was answered by ${statusCode}: ${text}`)
  return (JSON.parse(text) as { data: { id: string } }).data.id
}

/** A file of each caller, by the side that keeps it. */
const kept = new WeakMap<Side, Map<number, Promise<string>>>()

async function download(side: Side, which: number): Promise<void> {
  const files = kept.get(side) ?? new Map<number, Promise<string>>()
  kept.set(side, files)
  const id = files.get(which) ?? send(side, which)
  files.set(which, id)
  const path = `${base}/${await id}/actions/download`
  const { statusCode, body } = await side.pool.request({ method: 'GET', path, headers: headersOf(side, which) })
  let bytes = 0
  for await (const chunk of body) bytes += (chunk as Buffer).length
  if (statusCode !== 200 || bytes !== file.length) throw new Error(`A download was answered by ${statusCode}, ${bytes}`)
}

function speedFigure(what: string, rounds: readonly [number, number][]): Figure {
  const ratio = median(rounds.map(([own, bare]) => own / bare))
  return { ...sidesOf(what, 'MB/s', rounds), ratio, wanted: `at least ${LEAST_SPEED}`, isMet: ratio >= LEAST_SPEED }
}

function memoryFigure(what: string, rounds: readonly [number, number][]): Figure {
  const figure = sidesOf(what, 'MB', rounds)
  const [ratio, isMet] = [figure.subject / figure.floor, figure.subject <= figure.floor + MOST_MEMORY]
  return { ...figure, ratio, wanted: `${MOST_MEMORY} MB more`, isMet }
}

const sidesOf = (what: string, unit: string, rounds: readonly [number, number][]) => ({
  what,
  unit,
  subject: median(rounds.map(([own]) => own)),
  floor: median(rounds.map(([, bare]) => bare)),
})

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN

export const transferHeading =
  '\nfiles: files that come and go, beside a bare program that streams them through one cipher\n\n'
