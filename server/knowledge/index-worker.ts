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
  | ({ kind: 'add'; files: readonly SealedTerms[] } & Named)
  | ({ kind: 'search' } & Query)
  | ({ kind: 'finish' } & Query)
  | ({ kind: 'abandon' } & Named)

/** The passages that were found; undefined if there is no index of this version. */
export type IndexResult = RankedPassage[] | undefined

export interface IndexReply {
  id: number
  result?: IndexResult
  /** The message of an error, which quotes no text. */
  failure?: string
}

const { memory } = workerData as { memory: number }

/** Finished indexes by the id of their knowledge. */
const indexes = new LRUCache<number, Named & { index: SearchIndex }>({
  maxSize: memory,
  sizeCalculation: ({ index }) => Math.max(1, index.bytes),
})

/** Indexes that are being made. */
const unfinished = new Map<string, SearchIndex>()

const toName = ({ knowledgeId, version }: Named) => `${knowledgeId} ${version}`

function run(task: IndexTask): IndexResult {
  const name = toName(task)
  if (task.kind === 'add') return addFiles(name, task.files)
  if (task.kind === 'abandon') {
    unfinished.delete(name)
    return undefined
  }
  if (task.kind === 'search') {
    const found = indexes.get(task.knowledgeId)
    return found?.version === task.version ? found.index.search(task.terms, task.limit) : undefined
  }
  const index = unfinished.get(name) ?? new SearchIndex()
  unfinished.delete(name)
  indexes.set(task.knowledgeId, { knowledgeId: task.knowledgeId, version: task.version, index })
  return index.search(task.terms, task.limit)
}

function addFiles(name: string, files: readonly SealedTerms[]): undefined {
  const index = unfinished.get(name) ?? new SearchIndex()
  unfinished.set(name, index)
  for (const { fileId, language, key, sealed } of files)
    index.add(fileId, language, JSON.parse(inflateRawSync(openPart(key, TERMS, sealed)).toString()))
}

parentPort?.on('message', ({ id, task }: { id: number; task: IndexTask }) => {
  const reply: IndexReply = { id }
  try {
    reply.result = run(task)
  } catch (error) {
    reply.failure = (error as Error).name
  }
  parentPort?.postMessage(reply)
})
