import { randomBytes } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { sealPart, TERMS } from '../../routers/assistants/knowledge/sealed-parts.ts'
import type { IndexQuery, SealedTerms } from '../../routers/ports/knowledge-indexes.ts'
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
