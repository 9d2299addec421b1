import { parentPort, workerData } from 'node:worker_threads'
import { inflateRawSync } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import { openPart, TERMS, vectorName } from '../../routers/assistants/knowledge/sealed-parts.ts'
import { type PackedVector, readPacked } from '../../routers/assistants/knowledge/vectors.ts'
import type {
  PassageName,
  QueryTerms,
  RankedPassage,
  SealedTerms,
  SealedVectors,
} from '../../routers/ports/knowledge-indexes.ts'
import { SearchIndex } from './search-index.ts'

interface Named {
  knowledgeId: number
  version: number
  /** The index of vectors that it has; null for words alone. */
  vectorsId: number | null
}

interface Query extends Named {
  /** The only file whose passages are ranked; undefined for all. */
  fileId: number | undefined
  terms: readonly QueryTerms[]
  limit: number
  /** The vector of the question; undefined for a search by words alone. */
  embedding: readonly number[] | undefined
}

/**
 * Adds words of files, or vectors, to an index that is being made; searches an index; searches one after its last file; or ranks
 * passages by their vectors.
 */
export type IndexTask =
  | ({ kind: 'add'; languages: readonly string[]; files: readonly SealedTerms[] } & Named)
  | ({ kind: 'add-vectors'; vectors: readonly SealedVectors[] } & Named)
  | ({ kind: 'search' } & Query)
  | ({ kind: 'finish' } & Query)
  | ({ kind: 'abandon' } & Named)
  | { kind: 'rank'; embedding: readonly number[]; vectors: readonly SealedVectors[] }

export interface IndexResult {
  /** The passages that were found; undefined if there is no index of this version or a newer one. */
  ranked?: RankedPassage[]
  /** Passages that may be near in meaning, whose vectors decide. */
  nearest?: PassageName[]
  /** True if the memory does not hold the index. */
  isTooLarge?: boolean
  /** Ids of files that were left out, since their words could not be opened. */
  unreadable?: number[]
}

export interface IndexReply {
  id: number
  result: IndexResult
  /** The name of an error, which quotes no text. */
  failure?: string
}

const { memory } = workerData as { memory: number }

/** Finished indexes by the id of their knowledge. */
const indexes = new LRUCache<number, Pick<Named, 'version' | 'vectorsId'> & { index: SearchIndex }>({
  maxSize: memory,
  sizeCalculation: ({ index }) => Math.max(1, index.bytes),
})

/** Versions of knowledge whose index is larger than the memory, so that none is made for each search. */
const oversized = new LRUCache<number, number>({ max: 10_000 })

/** Indexes that are being made. */
const unfinished = new Map<string, SearchIndex>()

const toName = ({ knowledgeId, version, vectorsId }: Named) => `${knowledgeId} ${version} ${vectorsId}`

function run(task: IndexTask): IndexResult {
  if (task.kind === 'add') return addFiles(task)
  if (task.kind === 'add-vectors') return addVectors(task)
  if (task.kind === 'search') return search(task)
  if (task.kind === 'finish') return finish(task)
  if (task.kind === 'rank') return { ranked: rankByVectors(task.vectors, task.embedding) }
  unfinished.delete(toName(task))
  return {}
}

function search(query: Query): IndexResult {
  const { knowledgeId, version, vectorsId } = query
  const found = indexes.get(knowledgeId)
  // One with vectors also serves a search by words alone.
  const hasVectors = vectorsId === null || found?.vectorsId === vectorsId
  if (found && found.version >= version && hasVectors) return searchIndex(found.index, query)
  return { isTooLarge: (oversized.get(knowledgeId) ?? -1) >= version }
}

const searchIndex = (index: SearchIndex, { terms, limit, embedding, fileId }: Query): IndexResult => ({
  ranked: index.search(terms, limit, fileId),
  nearest: embedding ? index.findNearest(embedding, fileId) : [],
})

function addFiles(task: Extract<IndexTask, { kind: 'add' }>): IndexResult {
  const name = toName(task)
  const index = unfinished.get(name) ?? new SearchIndex(task.languages)
  unfinished.set(name, index)
  const unreadable: number[] = []
  for (const { fileId, language, key, sealed } of task.files) {
    try {
      index.add(fileId, language, JSON.parse(inflateRawSync(openPart(key, TERMS, sealed)).toString()))
    } catch {
      unreadable.push(fileId)
    }
  }
  return { isTooLarge: isTooLarge(index, task), unreadable }
}

function addVectors(task: Extract<IndexTask, { kind: 'add-vectors' }>): IndexResult {
  const index = unfinished.get(toName(task))
  if (!index) return {}
  const unreadable = openVectors(task.vectors, (passage, vector) => index.addVector(passage, vector))
  return { isTooLarge: isTooLarge(index, task), unreadable }
}

function isTooLarge(index: SearchIndex, { knowledgeId, version }: Named): boolean {
  const isLarger = index.bytes > memory
  if (isLarger) oversized.set(knowledgeId, version)
  return isLarger
}

/** Opens vectors one by one. Returns the ids of files of which one could not be opened. */
function openVectors(
  vectors: readonly SealedVectors[],
  use: (passage: PassageName, vector: PackedVector) => void,
): number[] {
  const unreadable = new Set<number>()
  for (const { fileId, indexId, key, ordinals, sealed } of vectors)
    for (const [at, ordinal] of ordinals.entries()) {
      try {
        const packed = openPart(key, vectorName(indexId, ordinal), sealed[at] ?? new Uint8Array(0))
        use({ fileId, ordinal }, readPacked(packed))
      } catch {
        unreadable.add(fileId)
      }
    }
  return [...unreadable]
}

/** Ranks passages by the cosine of the angle between their vectors and that of a question. */
function rankByVectors(vectors: readonly SealedVectors[], embedding: readonly number[]): RankedPassage[] {
  const ranked: RankedPassage[] = []
  openVectors(vectors, (passage, { scale, bytes }) => {
    let score = 0
    for (let at = 0; at < bytes.length; at++) score += (bytes[at] ?? 0) * (embedding[at] ?? 0)
    ranked.push({ ...passage, score: score * scale })
  })
  return ranked.sort(
    (one, other) => other.score - one.score || one.fileId - other.fileId || one.ordinal - other.ordinal,
  )
}

function finish(query: Query): IndexResult {
  const { knowledgeId, version, vectorsId } = query
  const name = toName(query)
  const index = unfinished.get(name)
  unfinished.delete(name)
  if (!index) return { ranked: [] }
  // A search of an older version may have begun before a newer index was finished.
  const known = indexes.get(knowledgeId)
  if (!known || known.version < version || (known.version === version && vectorsId !== null))
    indexes.set(knowledgeId, { version, vectorsId, index })
  return searchIndex(index, query)
}

parentPort?.on('message', ({ id, task }: { id: number; task: IndexTask }) => {
  const reply: IndexReply = { id, result: {} }
  try {
    reply.result = run(task)
  } catch (error) {
    reply.failure = (error as Error).name
  }
  parentPort?.postMessage(reply)
})
