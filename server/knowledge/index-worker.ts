import { parentPort, workerData } from 'node:worker_threads'
import { inflateRawSync } from 'node:zlib'
import { LRUCache } from 'lru-cache'
import { openPart, TERMS } from '../../routers/assistants/knowledge/sealed-parts.ts'
import type { QueryTerms, RankedPassage, SealedTerms } from '../../routers/ports/knowledge-indexes.ts'
import { SearchIndex } from './search-index.ts'

interface Named {
  knowledgeId: number
  version: number
}

interface Query extends Named {
  terms: readonly QueryTerms[]
  limit: number
}

/** Adds files to an index that is being made; searches an index; or searches one after its last file. */
export type IndexTask =
  | ({ kind: 'add'; languages: readonly string[]; files: readonly SealedTerms[] } & Named)
  | ({ kind: 'search' } & Query)
  | ({ kind: 'finish' } & Query)
  | ({ kind: 'abandon' } & Named)

export interface IndexResult {
  /** The passages that were found; undefined if there is no index of this version or a newer one. */
  ranked?: RankedPassage[]
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
const indexes = new LRUCache<number, { version: number; index: SearchIndex }>({
  maxSize: memory,
  sizeCalculation: ({ index }) => Math.max(1, index.bytes),
})

/** Versions of knowledge whose index is larger than the memory, so that none is made for each search. */
const oversized = new LRUCache<number, number>({ max: 10_000 })

/** Indexes that are being made. */
const unfinished = new Map<string, SearchIndex>()

const toName = ({ knowledgeId, version }: Named) => `${knowledgeId} ${version}`

function run(task: IndexTask): IndexResult {
  if (task.kind === 'add') return addFiles(task)
  if (task.kind === 'search') return search(task)
  if (task.kind === 'finish') return finish(task)
  unfinished.delete(toName(task))
  return {}
}

function search({ knowledgeId, version, terms, limit }: Query): IndexResult {
  const found = indexes.get(knowledgeId)
  if (found && found.version >= version) return { ranked: found.index.search(terms, limit) }
  return { isTooLarge: (oversized.get(knowledgeId) ?? -1) >= version }
}

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
  const isTooLarge = index.bytes > memory
  if (isTooLarge) oversized.set(task.knowledgeId, task.version)
  return { isTooLarge, unreadable }
}

function finish({ knowledgeId, version, terms, limit }: Query): IndexResult {
  const name = toName({ knowledgeId, version })
  const index = unfinished.get(name)
  unfinished.delete(name)
  // A search of an older version may have begun before a newer index was finished.
  const known = indexes.get(knowledgeId)
  if (index && (!known || known.version < version)) indexes.set(knowledgeId, { version, index })
  return { ranked: index?.search(terms, limit) ?? [] }
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
