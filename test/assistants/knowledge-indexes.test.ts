import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { deflateRawSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { sealPart, TERMS, vectorName } from '../../routers/assistants/knowledge/sealed-parts.ts'
import { packVector } from '../../routers/assistants/knowledge/vectors.ts'
import type { IndexQuery, PassageName, SealedTerms, SealedVectors } from '../../routers/ports/knowledge-indexes.ts'
import { ThreadedIndexes } from '../../server/knowledge/knowledge-indexes.ts'

function startIndexes(memory = 1024 * 1024) {
  const indexes = new ThreadedIndexes(memory)
  onTestFinished(() => indexes.close())
  return indexes
}

/** Seals a file of one passage. */
function sealFile(fileId: number, words: readonly string[]): SealedTerms {
  const key = randomBytes(32)
  const terms = JSON.stringify([words.flatMap((word) => [word, 1])])
  return { fileId, language: 'english', key, sealed: sealPart(key, TERMS, deflateRawSync(terms)) }
}

/** Makes a query for a word, and counts how often the words of all files are read. */
function makeQuery(version: number, files: readonly SealedTerms[], more: Partial<IndexQuery> = {}) {
  const counts = { loads: 0 }
  const query: IndexQuery = {
    knowledgeId: 1,
    version,
    terms: [{ language: 'english', words: ['walrus', 1] }],
    limit: 8,
    async *load() {
      counts.loads++
      yield files
    },
    reportUnreadable: () => {},
    signal: new AbortController().signal,
    ...more,
  }
  return { query, counts }
}

const idsOf = (found: readonly { fileId: number }[]) => found.map(({ fileId }) => fileId)

test('an older search takes a newer index, and never replaces it', async () => {
  const indexes = startIndexes()
  const gate = Promise.withResolvers<void>()
  const old = makeQuery(1, [], {
    async *load() {
      await gate.promise
      yield [sealFile(1, ['walrus'])]
    },
  })
  const newer = makeQuery(2, [sealFile(2, ['walrus'])])
  const slow = indexes.search(old.query)
  const fast = indexes.search(newer.query)
  gate.resolve()
  expect([idsOf(await slow), idsOf(await fast)]).toEqual([[1], [2]])

  expect(idsOf(await indexes.search(old.query))).toEqual([2])
  expect(idsOf(await indexes.search(newer.query))).toEqual([2])
  expect(newer.counts.loads).toBe(1)
})

test('an index that exceeds the memory is refused, and made once only', async () => {
  const indexes = startIndexes(20_000)
  const words = Array.from({ length: 200 }, (_, at) => `word${at}`)
  const { query, counts } = makeQuery(1, [sealFile(1, words)])

  for (let n = 0; n < 3; n++)
    await expect(indexes.search(query)).rejects.toMatchObject({
      problem: 'conflict',
      message: expect.stringContaining('KNOWLEDGE_MEMORY'),
    })
  expect(counts.loads).toBe(1)
  const smaller = makeQuery(2, [sealFile(1, ['walrus'])])
  expect(idsOf(await indexes.search(smaller.query))).toEqual([1])
})

test('a file that cannot be opened is left out, and its id is reported', async () => {
  const unreadable: number[] = []
  const { query } = makeQuery(1, [{ ...sealFile(7, ['walrus']), key: randomBytes(32) }, sealFile(8, ['walrus'])], {
    reportUnreadable: (ids) => unreadable.push(...ids),
  })

  expect(idsOf(await startIndexes().search(query))).toEqual([8])
  expect(unreadable).toEqual([7])
})

test('a search leaves the queue with its client, and a full queue refuses', async () => {
  const indexes = startIndexes()
  const gate = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const { query } = makeQuery(1, [], {
    async *load() {
      begun.resolve()
      await gate.promise
      yield [sealFile(1, ['walrus'])]
    },
  })
  const first = indexes.search(query)
  await begun.promise
  const gone = new AbortController()
  const leaving = Array.from({ length: 20 }, () => indexes.search({ ...query, signal: gone.signal }))
  await expect(indexes.search(query)).rejects.toMatchObject({ problem: 'busy' })
  gone.abort()
  expect(new Set((await Promise.allSettled(leaving)).map(({ status }) => status))).toEqual(new Set(['rejected']))

  const waiting = indexes.search(query)
  gate.resolve()
  expect([idsOf(await first), idsOf(await waiting)]).toEqual([[1], [1]])
})

test('a search whose client goes stops to make its index', async () => {
  const indexes = startIndexes()
  const gone = new AbortController()
  let batches = 0
  const { query } = makeQuery(1, [], {
    signal: gone.signal,
    async *load() {
      for (; batches < 100; batches++) {
        if (batches === 2) gone.abort()
        yield [sealFile(batches, ['walrus'])]
      }
    },
  })

  await expect(indexes.search(query)).rejects.toMatchObject({ problem: 'client_gone' })
  expect(batches).toBe(2)
  expect(idsOf(await indexes.search(makeQuery(1, [sealFile(1, ['walrus'])]).query))).toEqual([1])
})

const PASSAGES = 20_000
const DIMENSIONS = 1024

/** Passages whose vectors are equal, so that few are drawn. */
const DIRECTIONS = 64

/** Seals the vectors of the largest knowledge. */
function sealVectors(fileId: number) {
  const key = randomBytes(32)
  const drawn = Array.from({ length: DIRECTIONS }, () => Array.from(randomBytes(DIMENSIONS), (byte) => byte - 127.5))
  const draw = (ordinal: number) => drawn[ordinal % DIRECTIONS] ?? []
  const packed = drawn.map((vector) => packVector(vector))
  const sealed = Array.from({ length: PASSAGES }, (_, at) =>
    sealPart(key, vectorName(1, at), packed[at % DIRECTIONS] ?? ''),
  )
  const pick = (ordinals: readonly number[]): SealedVectors => ({
    fileId,
    indexId: 1,
    key,
    ordinals,
    sealed: ordinals.map((ordinal) => sealed[ordinal] ?? new Uint8Array(0)),
  })
  return { draw, pick }
}

test('20,000 passages of 1,024 dimensions are searched in a thread of their own', { timeout: 120_000 }, async () => {
  const indexes = startIndexes(256 * 1024 * 1024)
  const { draw, pick } = sealVectors(1)
  const key = randomBytes(32)
  const words = Array.from({ length: PASSAGES }, (_, at) => [`word${at % 500}`, 1, `rare${at}`, 1])
  const terms = {
    fileId: 1,
    language: 'english',
    key,
    sealed: sealPart(key, TERMS, deflateRawSync(JSON.stringify(words))),
  }
  const search = (wanted: number, byWords: (string | number)[]) =>
    indexes.search({
      ...makeQuery(1, [terms]).query,
      terms: [{ language: 'english', words: byWords }],
      vectors: {
        indexId: 1,
        embedding: draw(wanted),
        wordsWeight: 2,
        async *load() {
          for (let from = 0; from < PASSAGES; from += 2000)
            yield [pick(Array.from({ length: 2000 }, (_, at) => from + at))]
        },
        find: async (passages: readonly PassageName[]) => [pick(passages.map(({ ordinal }) => ordinal))],
      },
    })
  /** Counts the turns of this loop until the work ends: it goes on only if others do the work. */
  const countTurns = async <T>(work: Promise<T>) => {
    let [turns, isDone] = [0, false]
    const ended = work.finally(() => {
      isDone = true
    })
    for (; !isDone; turns++) await setImmediate()
    return { turns, result: await ended }
  }

  const made = await countTurns(search(12_345, []))
  const found = await countTurns(search(777, ['rare777', 1]))
  expect(made.result.map(({ ordinal }) => ordinal % DIRECTIONS)).toEqual(Array(8).fill(12_345 % DIRECTIONS))
  expect(found.result[0]?.ordinal).toBe(777)
  // Made or searched on this loop, there would be a handful of turns, one for each message.
  expect(made.turns).toBeGreaterThan(100)
  expect(found.turns).toBeGreaterThan(20)
})
