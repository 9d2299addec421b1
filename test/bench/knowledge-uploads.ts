import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { type Client, openClient } from '../kit/postgres-client.ts'
import { createFigure, createRandom, median } from './knowledge.ts'
import type { Part } from './part.ts'
import type { Figure } from './realtime.ts'
import type { SubjectInput } from './subject.ts'
import type { World } from './suite.ts'

const FILES = 8
const SECTIONS = 250
const WORDS_PER_SECTION = 150
const VOCABULARY = 20_000
/** Milliseconds between looks at the states of files. */
const LOOK_MS = 20
/** Each file is read by a process of its own with a low priority, one after the other, and half of the time is its start. */
const MAX_RATIO = 12

const random = createRandom(11)

/** Draws a text of about 250 KB with headings, unlike any other. */
function drawText(): string {
  const drawWord = () => `word${Math.floor(VOCABULARY * random() ** 3)}`
  const drawSentence = (words: number) => `The ${Array.from({ length: words }, drawWord).join(' ')} is here.`
  const sections = Array.from({ length: SECTIONS }, (_, at) => {
    const sentences = Array.from({ length: WORDS_PER_SECTION / 15 }, () => drawSentence(15))
    return `# Section ${at}\n\n${sentences.join(' ')}`
  })
  return sections.join('\n\n')
}

/**
 * Measures files from their upload until all can be found, beside the least that makes their words searchable: sections in
 * clear and an index of PostgreSQL's text search.
 */
export async function* measureUploads({ databaseUrl, folder, start }: World, rounds: number): AsyncGenerator<Figure> {
  const subject = await start<SubjectInput>('subject.ts', {
    settings: { DATABASE_URL: databaseUrl, DATA_DIR: `${folder}/data`, PORT: '0' },
    temporaryDir: folder,
    abilities: ['read', 'write'],
  })
  await using client = await openClient(databaseUrl)
  await client.query(
    'create table sections (path text, body text, words tsvector); create index on sections using gin (words)',
  )
  const times: { subject: number[]; floor: number[] } = { subject: [], floor: [] }
  for (let round = 0; round <= rounds; round++) {
    const texts = Array.from({ length: FILES }, drawText)
    const [one, other] = [await time(() => uploadAll(subject, texts)), await time(() => storeInClear(client, texts))]
    // The first round starts processes and compiles.
    if (round === 0) continue
    times.subject.push(one)
    times.floor.push(other)
  }
  const what = `${FILES} files of 250 KB until they are found, beside their words in clear`
  yield createFigure({ what, unit: 'ms', subject: median(times.subject), floor: median(times.floor) }, MAX_RATIO)
}

async function time(work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}

/** Uploads files into new knowledge, and waits until all of them are read. */
async function uploadAll(subject: Part, texts: readonly string[]): Promise<void> {
  const { id } = await call<{ id: number }>(subject, 'POST', 'create', { name: crypto.randomUUID() })
  for (const [at, text] of texts.entries()) await call(subject, 'PUT', 'upload', { id, path: `${at}.md` }, text)
  for (;;) {
    const { files } = await call<{ files: { state: string }[] }>(subject, 'GET', 'files', { id })
    const states = new Set(files.map(({ state }) => state))
    if (states.has('failed')) throw new Error('A file was not read.')
    if (states.size === 1 && states.has('ready')) return
    await pause(LOOK_MS)
  }
}

async function call<Data>(
  { url, details: { token } }: Part,
  method: 'GET' | 'POST' | 'PUT',
  name: string,
  input: object,
  file?: string,
): Promise<Data> {
  const query = method === 'POST' ? '' : `?input=${encodeURIComponent(JSON.stringify(input))}`
  const type = file === undefined ? 'application/json' : 'application/octet-stream'
  const response = await fetch(`${url}/trpc/knowledge.${name}${query}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(method !== 'GET' && { 'content-type': type }) },
    ...(method !== 'GET' && { body: file ?? JSON.stringify(input) }),
  })
  if (!response.ok) throw new Error(`knowledge.${name} was answered with ${response.status}`)
  return ((await response.json()) as { result: { data: Data } }).result.data
}

async function storeInClear(client: Client, texts: readonly string[]): Promise<void> {
  for (const [at, text] of texts.entries())
    await client.query(
      `insert into sections (path, body, words)
         select $1, section, to_tsvector('english', section) from unnest($2::text[]) as section`,
      [`${at}.md`, text.split('\n\n')],
    )
}

export const uploadsHeading = '\nknowledge: files from their upload until they are found, beside PostgreSQL alone\n\n'
