import { Worker } from 'node:worker_threads'
import { bulkhead } from 'cockatiel'
import type { IndexQuery, KnowledgeIndexes, RankedPassage } from '../../routers/ports/knowledge-indexes.ts'
import type { IndexReply, IndexResult, IndexTask } from './index-worker.ts'

interface PendingTask {
  resolve(result: IndexResult): void
  reject(error: Error): void
}

/** Indexes of knowledge in a thread of their own, which starts with the first search. */
export class ThreadedIndexes implements KnowledgeIndexes {
  readonly #memory: number
  /** One index is made at a time, as each takes memory beside the finished ones. */
  readonly #building = bulkhead(1, Number.POSITIVE_INFINITY)
  readonly #pending = new Map<number, PendingTask>()
  #worker: Worker | undefined
  #lastId = 0

  /** The memory in bytes holds the indexes that were used last. */
  constructor(memory: number) {
    this.#memory = memory
  }

  async search({ load, ...query }: IndexQuery): Promise<RankedPassage[]> {
    const found = await this.#run({ kind: 'search', ...query })
    return found ?? this.#building.execute(() => this.#build({ load, ...query }))
  }

  async close(): Promise<void> {
    await this.#worker?.terminate()
  }

  async #build({ load, ...query }: IndexQuery): Promise<RankedPassage[]> {
    // Another search may have made it meanwhile.
    const found = await this.#run({ kind: 'search', ...query })
    if (found) return found
    const { knowledgeId, version } = query
    try {
      for await (const files of load()) await this.#run({ kind: 'add', knowledgeId, version, files })
      return (await this.#run({ kind: 'finish', ...query })) ?? []
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
