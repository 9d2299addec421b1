import type { RoomKeys, Salts } from '../../browser/crypto.ts'
import { api } from '../shared/api/client.ts'
import type { SearchHit, SearchReach } from '../shared/conversation/search-worker.ts'
import { TextSearch } from '../shared/conversation/text-search.ts'
import { Listeners } from '../shared/listeners.ts'
import { findExcerpt } from '../shared/text/excerpt.ts'
import { buildWordPattern } from '../shared/text/word-pattern.ts'
import { asPage, type Room, type StoredRoomMessage } from './room.ts'
import { MessageOpener, type RoomMessage } from './room-message.ts'

const PAGE_SIZE = 200

/** A room whose history is searched, with its keys. */
interface SearchedRoom {
  room: Pick<Room, 'id' | 'slug' | 'sharesEarlierKeys'>
  keys: RoomKeys
  salts: Salts
}

/** The parts of a message that are shown of a hit. */
type FoundMessage = Pick<RoomMessage, 'id' | 'thread' | 'authorName' | 'model' | 'assistant' | 'createdAt'>

export type RoomHit = SearchHit<FoundMessage>

/** The progress of reading the history, the newest messages first. */
export interface SearchState {
  phase: 'idle' | 'reading' | 'stopped' | 'done' | 'failed'
  reach: SearchReach
  error?: unknown
}

const idleState: SearchState = { phase: 'idle', reach: { count: 0, newest: 0, isFull: false } }

/** Searches the whole history of a room in a worker. The decrypted texts go with the room, the session or the page. */
export class RoomSearch {
  readonly #listeners = new Listeners()
  #texts: TextSearch<FoundMessage> | undefined
  #keys: RoomKeys | undefined
  #state = idleState

  get state(): SearchState {
    return this.#state
  }

  readonly subscribe = this.#listeners.subscribe

  /** Reads the history, or the rest of it. */
  async read(searched: SearchedRoom): Promise<void> {
    const texts = this.#texts ?? new TextSearch(() => this.forget())
    this.#texts = texts
    this.#keys = searched.keys
    this.#set({ ...this.#state, phase: 'reading', error: undefined })
    try {
      const end = await this.#readPages(texts, searched)
      if (end) this.#set({ ...this.#state, phase: end })
    } catch (error) {
      if (texts === this.#texts) this.#set({ ...this.#state, phase: 'failed', error })
    }
  }

  stopReading(): void {
    this.#set({ ...this.#state, phase: 'stopped' })
  }

  /** Searches the part of the history that has been read. */
  async find(words: string): Promise<RoomHit[]> {
    return (await this.#texts?.find(words)) ?? []
  }

  /** Forgets the history if the room has other keys by now, which may decrypt more of it. */
  forgetIfKeysChanged(keys: RoomKeys): void {
    if (keys !== this.#keys) this.forget()
  }

  forget(): void {
    this.#texts?.end()
    this.#texts = undefined
    this.#set(idleState)
  }

  /** Returns the reason for its end; undefined if it was stopped from outside. */
  async #readPages(
    texts: TextSearch<FoundMessage>,
    { room, keys, salts }: SearchedRoom,
  ): Promise<'done' | 'stopped' | undefined> {
    const opener = new MessageOpener(room.slug, salts)
    const isEnded = () => texts !== this.#texts
    // New messages move the others to later pages, so some are read twice, but none is skipped.
    for (let number = Math.floor(this.#state.reach.count / PAGE_SIZE) + 1; ; number++) {
      const { items, total } = await readHistory(room.id, number)
      const messages = await Promise.all(items.map((each) => opener.open(each, keys, room.sharesEarlierKeys)))
      const reach = await texts.keep(messages.map(toTextGroup))
      if (isEnded()) return undefined
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

const toFound = ({ id, thread, authorName, model, assistant, createdAt }: RoomMessage): FoundMessage => ({
  id,
  thread,
  authorName,
  model,
  assistant,
  createdAt,
})

const toTextGroup = (message: RoomMessage) => ({
  id: message.id,
  order: Number(message.id),
  texts: [{ place: toFound(message), text: message.text }],
})

/** The most hits that are shown, the newest first. */
const MAX_HITS = 100

/** Finds the loaded messages with these words. */
export function findHits(messages: Iterable<RoomMessage>, words: string): RoomHit[] {
  const hits: RoomHit[] = []
  const pattern = buildWordPattern(words)
  if (!pattern) return hits
  for (const message of messages) {
    const excerpt = findExcerpt(message.text, pattern)
    if (excerpt) hits.push({ place: toFound(message), excerpt })
  }
  return takeNewest(hits)
}

export const takeNewest = (hits: readonly RoomHit[]): RoomHit[] =>
  hits.toSorted(({ place: one }, { place: other }) => Number(other.id) - Number(one.id)).slice(0, MAX_HITS)
