import { api } from '../shared/api/client.ts'
import { onSessionEnd } from '../shared/api/session-end.ts'
import { Listeners } from '../shared/listeners.ts'
import { createWorkerFactory } from '../shared/trusted-worker.ts'
import { asPage, type StoredRoomMessage } from './room.ts'
import type { SearchHit } from './search-hit.ts'
import type { HistoryReach, SearchedRoom, SearchRequest, SearchResponse } from './search-worker.ts'
import workerAddress from './search-worker.ts?worker&url'

const startWorker = createWorkerFactory('search-worker', workerAddress)

const PAGE_SIZE = 200

/** The progress of reading the history, the newest messages first. */
export interface SearchState {
  phase: 'idle' | 'reading' | 'stopped' | 'done' | 'failed'
  reach: HistoryReach
  error?: unknown
}

const idleState: SearchState = { phase: 'idle', reach: { count: 0, newest: 0, isFull: false } }

/** Searches the whole history of a room in a worker. The decrypted texts go with the room, the session or the page. */
export class RoomSearch {
  readonly #listeners = new Listeners()
  #worker: SearchWorker | undefined
  #keys: SearchedRoom['keys'] | undefined
  #state = idleState

  get state(): SearchState {
    return this.#state
  }

  readonly subscribe = this.#listeners.subscribe

  /** Reads the history, or the rest of it. */
  async read(searched: SearchedRoom): Promise<void> {
    const worker = this.#worker ?? new SearchWorker(() => this.forget())
    this.#worker = worker
    this.#keys = searched.keys
    this.#set({ ...this.#state, phase: 'reading', error: undefined })
    try {
      const end = await this.#readPages(worker, searched)
      if (end) this.#set({ ...this.#state, phase: end })
    } catch (error) {
      if (worker === this.#worker) this.#set({ ...this.#state, phase: 'failed', error })
    }
  }

  stopReading(): void {
    this.#set({ ...this.#state, phase: 'stopped' })
  }

  /** Searches the part of the history that has been read. */
  async find(words: string): Promise<SearchHit[]> {
    if (!this.#worker || words === '') return []
    return (await this.#worker.request({ type: 'find', words })).hits
  }

  /** Forgets the history if the room has other keys by now, which may decrypt more of it. */
  forgetIfKeysChanged(keys: SearchedRoom['keys']): void {
    if (keys !== this.#keys) this.forget()
  }

  forget(): void {
    this.#worker?.end()
    this.#worker = undefined
    this.#set(idleState)
  }

  /** Returns the reason for its end; undefined if it was stopped from outside. */
  async #readPages(worker: SearchWorker, searched: SearchedRoom): Promise<'done' | 'stopped' | undefined> {
    // New messages move the others to later pages, so some are read twice, but none is skipped.
    for (let number = Math.floor(this.#state.reach.count / PAGE_SIZE) + 1; ; number++) {
      const { items, total } = await readHistory(searched.room.id, number)
      const { reach } = await worker.request({ type: 'keep', searched, stored: items })
      if (worker !== this.#worker) return undefined
      this.#set({ ...this.#state, reach })
      if (number * PAGE_SIZE >= total) return 'done'
      if (reach.isFull) return 'stopped'
      if (this.#state.phase !== 'reading') return undefined
    }
  }

  #set(state: SearchState): void {
    this.#state = state
    this.#listeners.notify()
  }
}

const readHistory = (id: string, number: number) =>
  asPage<StoredRoomMessage>(
    api.rooms.related.query({
      id,
      relation: 'messages',
      include: ['member'],
      sort: ['-id'],
      page: { size: PAGE_SIZE, number },
    }),
  )

type WithoutNumber<Order> = Order extends unknown ? Omit<Order, 'number'> : never

/** Sends requests to the worker until it or the session ends. */
class SearchWorker {
  readonly #worker = startWorker()
  readonly #waiting = new Map<number, PromiseWithResolvers<SearchResponse>>()
  readonly #stopListening: () => void
  #number = 0

  constructor(ended: () => void) {
    this.#stopListening = onSessionEnd(ended)
    this.#worker.addEventListener('message', ({ data }: MessageEvent<SearchResponse>) => {
      this.#waiting.get(data.number)?.resolve(data)
      this.#waiting.delete(data.number)
    })
    this.#worker.addEventListener('error', ({ message }) => this.#fail(new Error(message)))
  }

  request(order: WithoutNumber<SearchRequest>): Promise<SearchResponse> {
    const number = ++this.#number
    const waiting = Promise.withResolvers<SearchResponse>()
    this.#waiting.set(number, waiting)
    this.#worker.postMessage({ ...order, number })
    return waiting.promise
  }

  end(): void {
    this.#stopListening()
    this.#worker.terminate()
    this.#fail(new Error('The search has ended.'))
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
