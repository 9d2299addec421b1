import { Worker } from 'node:worker_threads'
import { KeyedSemaphore } from '../../routers/core/load/concurrency.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { IndexQuery, KnowledgeIndexes, RankedPassage } from '../../routers/ports/knowledge-indexes.ts'
import type { IndexReply, IndexResult, IndexTask } from './index-worker.ts'
import { fusePassages } from './search-index.ts'

interface PendingTask {
  resolve(result: IndexResult): void
  reject(error: Error): void
}

/** Searches that wait for their index; further ones are refused. */
const MAX_WAITING = 20
const MAX_WAIT_MS = 30_000

/** Indexes of knowledge in a thread of their own, which starts with the first search. */
export class ThreadedIndexes implements KnowledgeIndexes {
  readonly #memory: number
  /** One index is made at a time, as each takes memory beside the finished ones. */
  readonly #building = new KeyedSemaphore({
    perKey: 1,
    maxWaiting: MAX_WAITING,
    maxWaitMs: MAX_WAIT_MS,
    refusal: 'busy',
  })
  readonly #pending = new Map<number, PendingTask>()
  #worker: Worker | undefined
  #lastId = 0

  /** The memory in bytes holds the indexes that were used last. */
  constructor(memory: number) {
    this.#memory = memory
  }

  async search(search: IndexQuery): Promise<RankedPassage[]> {
    const found = await this.#findOrBuild(search)
    const { ranked = [], nearest = [] } = found
    const { vectors, limit } = search
    if (!vectors || nearest.length === 0) return ranked.slice(0, limit)
    const sealed = await vectors.find(nearest)
    const { ranked: byVectors = [] } = await this.#run({ kind: 'rank', embedding: vectors.embedding, vectors: sealed })
    return fusePassages(ranked, byVectors, vectors.wordsWeight).slice(0, limit)
  }

  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  async #findOrBuild(search: IndexQuery): Promise<IndexResult> {
    const found = await this.#find(search)
    if (found.ranked) return found
    using _turn = await this.#building.acquire('all', () => search.signal)
    // Another search may have made it meanwhile.
    const made = await this.#find(search)
    return made.ranked ? made : await this.#build(search)
  }

  async #find(search: IndexQuery): Promise<IndexResult> {
    const result = await this.#run({ kind: 'search', ...toQuery(search) })
    if (result.isTooLarge) throw createTooLargeProblem()
    return result
  }

  async #build(search: IndexQuery): Promise<IndexResult> {
    const { load, vectors, terms } = search
    const query = toQuery(search)
    const { knowledgeId, version, vectorsId } = query
    const name = { knowledgeId, version, vectorsId }
    const languages = terms.map(({ language }) => language)
    try {
      for await (const files of load()) await this.#add({ kind: 'add', ...name, languages, files }, search)
      for await (const sealed of vectors?.load() ?? [])
        await this.#add({ kind: 'add-vectors', ...name, vectors: sealed }, search)
      return await this.#run({ kind: 'finish', ...query })
    } catch (error) {
      await this.#run({ kind: 'abandon', ...name })
      throw error
    }
  }

  async #add(task: IndexTask, { signal, reportUnreadable }: IndexQuery): Promise<void> {
    if (signal.aborted) throw new Problem('client_gone')
    const { isTooLarge, unreadable } = await this.#run(task)
    if (isTooLarge) throw createTooLargeProblem()
    if (unreadable?.length) reportUnreadable(unreadable)
  }

  #run(task: IndexTask): Promise<IndexResult> {
    this.#worker ??= this.#start()
    const worker = this.#worker
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject })
      worker.postMessage({ id, task })
    })
  }

  #start(): Worker {
    const worker = new Worker(new URL('./index-worker.ts', import.meta.url), { workerData: { memory: this.#memory } })
    worker.unref()
    worker.on('message', ({ id, result, failure }: IndexReply) => {
      const task = this.#pending.get(id)
      this.#pending.delete(id)
      if (failure) task?.reject(new Error(`the thread of the knowledge failed: ${failure}`))
      else task?.resolve(result)
    })
    worker.on('error', (error) => this.#fail(worker, error as Error))
    worker.on('exit', () => this.#fail(worker, new Error('the thread of the knowledge has ended')))
    return worker
  }

  /** The next search starts another thread. */
  #fail(worker: Worker, error: Error): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    for (const { reject } of this.#pending.values()) reject(error)
    this.#pending.clear()
  }
}

/** Passages of a ranking by words that is joined with one by vectors. */
const MAX_FUSED = 200

const toQuery = ({ knowledgeId, version, fileId, terms, limit, vectors }: IndexQuery) => ({
  knowledgeId,
  version,
  vectorsId: vectors?.indexId ?? null,
  fileId,
  terms,
  limit: vectors ? Math.max(limit, MAX_FUSED) : limit,
  embedding: vectors?.embedding,
})

const createTooLargeProblem = () =>
  new Problem('conflict', {
    detail:
      'The knowledge has more words than the memory for searches holds. Delete files, or ask an administrator to raise `KNOWLEDGE_MEMORY`.',
  })
