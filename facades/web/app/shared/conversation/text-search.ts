import { onSessionEnd } from '../api/session-end.ts'
import { createWorkerFactory } from '../trusted-worker.ts'
import type { SearchHit, SearchReach, SearchRequest, SearchResponse, TextGroup } from './search-worker.ts'
import workerAddress from './search-worker.ts?worker&url'

const startWorker = createWorkerFactory('search-worker', workerAddress)

type WithoutNumber<Request> = Request extends unknown ? Omit<Request, 'number'> : never

/** Keeps decrypted texts in a worker and searches them there. The texts go with the session, the worker or the page. */
export class TextSearch<Place> {
  readonly #worker = startWorker()
  readonly #waiting = new Map<number, PromiseWithResolvers<SearchResponse<Place>>>()
  readonly #stopListening: () => void
  #number = 0

  /** Takes a function that is called when the session ends. */
  constructor(ended: () => void) {
    this.#stopListening = onSessionEnd(ended)
    this.#worker.addEventListener('message', ({ data }: MessageEvent<SearchResponse<Place>>) => {
      this.#waiting.get(data.number)?.resolve(data)
      this.#waiting.delete(data.number)
    })
    this.#worker.addEventListener('error', ({ message }) => this.#fail(new Error(message)))
  }

  /** Keeps the texts of groups, in place of those that the groups had before. */
  async keep(groups: readonly TextGroup<Place>[]): Promise<SearchReach> {
    return (await this.#request({ type: 'keep', groups })).reach
  }

  /** Forgets groups. */
  async drop(ids: readonly string[]): Promise<SearchReach> {
    return (await this.#request({ type: 'drop', ids })).reach
  }

  /** Finds the newest texts with these words. */
  async find(words: string): Promise<SearchHit<Place>[]> {
    return words === '' ? [] : (await this.#request({ type: 'find', words })).hits
  }

  end(): void {
    this.#stopListening()
    this.#worker.terminate()
    this.#fail(new Error('The search has ended.'))
  }

  #request(request: WithoutNumber<SearchRequest<Place>>): Promise<SearchResponse<Place>> {
    const number = ++this.#number
    const waiting = Promise.withResolvers<SearchResponse<Place>>()
    this.#waiting.set(number, waiting)
    this.#worker.postMessage({ ...request, number })
    return waiting.promise
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
