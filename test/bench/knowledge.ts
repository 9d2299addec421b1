import { randomBytes } from 'node:crypto'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { openPart, sealPart, TERMS, vectorName } from '../../routers/assistants/knowledge/sealed-parts.ts'
import { packVector } from '../../routers/assistants/knowledge/vectors.ts'
import type { PassageName, RankedPassage, SealedTerms, SealedVectors } from '../../routers/ports/knowledge-indexes.ts'
import { ThreadedIndexes } from '../../server/knowledge/knowledge-indexes.ts'
import { openClient } from '../kit/postgres-client.ts'
import type { Figure } from './realtime.ts'
import type { World } from './suite.ts'

const PASSAGES = 20_000
const DIMENSIONS = 1024
const CLUSTERS = 400
const WORDS = 80
const VOCABULARY = 20_000
const FOUND = 20
const INDEX_ID = 1
const MEMORY = 256 * 1024 * 1024

/** A generator of the same numbers in each run. */
export function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const random = createRandom(7)
const drawNormal = () => Math.sqrt(-2 * Math.log(random() || 1)) * Math.cos(2 * Math.PI * random())
const drawVector = () => Float32Array.from({ length: DIMENSIONS }, drawNormal)

function normalize(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector)
  return vector.map((value) => value / length)
}

/** Draws a vector beside another one, as texts of one subject have them. */
const drawNear = (centre: Float32Array) => normalize(centre.map((value) => value + 0.8 * drawNormal()))

interface Passages {
  vectors: Float32Array[]
  words: (string | number)[][]
  centres: Float32Array[]
}

function drawPassages(count: number): Passages {
  const centres = Array.from({ length: CLUSTERS }, drawVector)
  const vectors = Array.from({ length: count }, (_, at) => drawNear(centres[at % CLUSTERS] ?? drawVector()))
  // Few words are frequent, and most are rare.
  const drawWords = () => new Set(Array.from({ length: WORDS }, () => `word${Math.floor(VOCABULARY * random() ** 3)}`))
  const words = Array.from({ length: count }, () => [...drawWords()].flatMap((word) => [word, 1]))
  return { vectors, words, centres }
}

/** Seals the passages as one file, as the database has them. */
function seal({ vectors, words }: Passages) {
  const key = randomBytes(32)
  const terms: SealedTerms = {
    fileId: 1,
    language: 'english',
    key,
    sealed: sealPart(key, TERMS, deflateRawSync(JSON.stringify(words))),
  }
  const sealed = vectors.map((vector, at) => sealPart(key, vectorName(INDEX_ID, at), packVector([...vector])))
  const pick = (ordinals: readonly number[]): SealedVectors => ({
    fileId: 1,
    indexId: INDEX_ID,
    key,
    ordinals,
    sealed: ordinals.map((ordinal) => sealed[ordinal] ?? new Uint8Array(0)),
  })
  return { terms, pick }
}

type Sealed = ReturnType<typeof seal>

const search = (indexes: ThreadedIndexes, { terms, pick }: Sealed, question: Float32Array, words: string[]) =>
  indexes.search({
    knowledgeId: 1,
    version: 1,
    terms: [{ language: 'english', words: words.flatMap((word) => [word, 1]) }],
    limit: FOUND,
    vectors: {
      indexId: INDEX_ID,
      embedding: [...question],
      wordsWeight: words.length === 0 ? 0 : 2,
      async *load() {
        yield [pick(Array.from({ length: PASSAGES }, (_, at) => at))]
      },
      find: async (passages: readonly PassageName[]) => [pick(passages.map(({ ordinal }) => ordinal))],
    },
    async *load() {
      yield [terms]
    },
    reportUnreadable: () => {},
    signal: new AbortController().signal,
  })

/** The floor: the cosine of every vector in a plain loop. */
function searchByLoop(vectors: readonly Float32Array[], question: Float32Array): RankedPassage[] {
  const ranked = vectors.map((vector, ordinal) => {
    let score = 0
    for (let at = 0; at < DIMENSIONS; at++) score += (vector[at] ?? 0) * (question[at] ?? 0)
    return { fileId: 1, ordinal, score }
  })
  return ranked.sort((one, other) => other.score - one.score).slice(0, FOUND)
}

/** The floor of an index: everything is decrypted and parsed, and nothing is kept. */
function openAll({ terms, pick }: Sealed): void {
  JSON.parse(inflateRawSync(openPart(terms.key, TERMS, terms.sealed)).toString())
  const { key, ordinals, sealed } = pick(Array.from({ length: PASSAGES }, (_, at) => at))
  for (const ordinal of ordinals) openPart(key, vectorName(INDEX_ID, ordinal), sealed[ordinal] ?? new Uint8Array(0))
}

export const median = (values: readonly number[]) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0

const WARM_UP = 10

interface Times {
  /** By the clock. */
  wall: number
  /** Of all threads of this process. */
  cpu: number
}

/** Returns median times in milliseconds. */
async function time(rounds: number, work: (round: number) => unknown): Promise<Times> {
  const times: Times[] = []
  for (let round = 0; round < rounds; round++) {
    const [start, used] = [performance.now(), process.cpuUsage()]
    await work(round)
    const { user, system } = process.cpuUsage(used)
    times.push({ wall: performance.now() - start, cpu: (user + system) / 1000 })
  }
  return { wall: median(times.map(({ wall }) => wall)), cpu: median(times.map(({ cpu }) => cpu)) }
}

/** The same once the engine has compiled the work. */
async function timeWarm(rounds: number, work: (round: number) => unknown): Promise<Times> {
  await time(WARM_UP, work)
  return time(rounds, work)
}

const toBits = (vector: Float32Array) => Array.from(vector, (value) => (value > 0 ? '1' : '0')).join('')

/** Measures PostgreSQL, which counts the bits that differ, over a table of signs in clear. */
async function timeBitCount(databaseUrl: string, { vectors }: Passages, questions: readonly Float32Array[]) {
  await using client = await openClient(databaseUrl)
  await client.query(`create table signs (id int primary key, code bit(${DIMENSIONS}))`)
  for (let at = 0; at < vectors.length; at += 1000) {
    const rows = vectors.slice(at, at + 1000).map((vector, row) => `(${at + row}, B'${toBits(vector)}')`)
    await client.query(`insert into signs values ${rows.join(',')}`)
  }
  await client.query('vacuum analyze signs')
  return await timeWarm(questions.length, (round) =>
    client.query(
      `select id from signs order by bit_count(code # B'${toBits(questions[round] ?? drawVector())}') limit ${FOUND}`,
    ),
  )
}

/** Milliseconds that a quick embedding model needs for a question. */
const EMBEDDING_MS = 50
const MIN_RECALL = 0.95

/** Milliseconds for which a search may keep all other requests waiting. */
const MAX_BLOCK_MS = 50

export const createFigure = (figure: Omit<Figure, 'ratio' | 'wanted' | 'isMet'>, maxRatio: number): Figure => {
  const ratio = figure.subject / figure.floor
  return { ...figure, ratio, wanted: `at most ${maxRatio}`, isMet: ratio <= maxRatio }
}

/** Measures the search in the largest knowledge there is, and making its index, beside the least programs that find the same. */
export async function* measureKnowledge({ databaseUrl }: World, rounds: number): AsyncGenerator<Figure> {
  const passages = drawPassages(PASSAGES)
  const sealed = seal(passages)
  const questions = Array.from({ length: rounds }, (_, at) => drawNear(passages.centres[at] ?? drawVector()))
  const indexes = new ThreadedIndexes(MEMORY)
  try {
    const [first = drawVector()] = questions
    const words = Array.from({ length: 8 }, (_, at) => `word${at * 40}`)
    const built = await time(1, () => search(indexes, sealed, first, words))
    const opened = await time(1, () => openAll(sealed))
    const byLoop = await timeWarm(rounds, (round) => searchByLoop(passages.vectors, questions[round] ?? first))
    const bySigns = await timeWarm(rounds, (round) => search(indexes, sealed, questions[round] ?? first, []))
    const delays = monitorEventLoopDelay({ resolution: 1 })
    delays.enable()
    const withWords = await timeWarm(rounds, (round) => search(indexes, sealed, questions[round] ?? first, words))
    delays.disable()
    const byDatabase = await timeBitCount(databaseUrl, passages, questions)
    const cpu = { unit: 'ms of processor' }
    yield createFigure({ what: 'vectors, beside a plain loop', ...cpu, subject: bySigns.cpu, floor: byLoop.cpu }, 1)
    yield createFigure(
      { what: 'vectors, beside bit_count', unit: 'ms', subject: bySigns.wall, floor: byDatabase.wall },
      5,
    )
    yield createFigure(
      { what: 'words and vectors, beside an embedding', ...cpu, subject: withWords.cpu, floor: EMBEDDING_MS },
      1,
    )
    yield createFigure(
      { what: 'longest block of the loop by searches', unit: 'ms', subject: delays.max / 1e6, floor: MAX_BLOCK_MS },
      1,
    )
    yield createFigure(
      { what: 'making the index, beside decrypting it', ...cpu, subject: built.cpu, floor: opened.cpu },
      5,
    )
    yield await measureRecall(indexes, sealed, passages, questions)
  } finally {
    await indexes.close()
  }
}

async function measureRecall(
  indexes: ThreadedIndexes,
  sealed: Sealed,
  { vectors }: Passages,
  questions: readonly Float32Array[],
): Promise<Figure> {
  let common = 0
  for (const question of questions) {
    const wanted = new Set(searchByLoop(vectors, question).map(({ ordinal }) => ordinal))
    const found = await search(indexes, sealed, question, [])
    common += found.filter(({ ordinal }) => wanted.has(ordinal)).length
  }
  const recall = common / (FOUND * questions.length)
  return {
    what: 'found of the 20 nearest vectors',
    unit: 'part',
    subject: recall,
    floor: 1,
    ratio: recall,
    wanted: `at least ${MIN_RECALL}`,
    isMet: recall >= MIN_RECALL,
  }
}

export const knowledgeHeading = `\nknowledge: a search in ${PASSAGES} passages of ${DIMENSIONS} dimensions, beside a plain loop and PostgreSQL\n\n`
