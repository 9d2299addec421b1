import { Worker } from 'node:worker_threads'
import { KeyedSemaphore } from '../../routers/core/load/concurrency.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { IndexQuery, KnowledgeIndexes, RankedPassage } from '../../routers/ports/knowledge-indexes.ts'
import type { IndexReply, IndexResult, IndexTask } from './index-worker.ts'

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
    const found = await this.#find(search)
    if (found) return found
    using _turn = await this.#building.acquire('all', () => search.signal)
    // Another search may have made it meanwhile.
    return (await this.#find(search)) ?? (await this.#build(search))
  }

  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  async #find({ knowledgeId, version, terms, limit }: IndexQuery): Promise<RankedPassage[] | undefined> {
    const { ranked, isTooLarge } = await this.#run({ kind: 'search', knowledgeId, version, terms, limit })
    if (isTooLarge) throw createTooLargeProblem()
    return ranked
  }

  async #build({
    load,
    signal,
    reportUnreadable,
    knowledgeId,
    version,
    terms,
    limit,
  }: IndexQuery): Promise<RankedPassage[]> {
    const languages = terms.map(({ language }) => language)
    try {
      for await (const files of load()) {
        if (signal.aborted) throw new Problem('client_gone')
        const added = await this.#run({ kind: 'add', knowledgeId, version, languages, files })
        if (added.isTooLarge) throw createTooLargeProblem()
        if (added.unreadable?.length) reportUnreadable(added.unreadable)
      }
      const { ranked = [] } = await this.#run({ kind: 'finish', knowledgeId, version, terms, limit })
      return ranked
    } catch (error) {
      await this.#run({ kind: 'abandon', knowledgeId, version })
      throw error
    }
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

const createTooLargeProblem = () =>
  new Problem('conflict', {
    detail:
      'The knowledge has more words than the memory for searches holds. Delete files, or ask an administrator to raise `KNOWLEDGE_MEMORY`.',
  })
