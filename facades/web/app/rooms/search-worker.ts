import type { RoomKeys, Salts } from '../../browser/crypto.ts'
import type { Room, StoredRoomMessage } from './room.ts'
import { MessageOpener } from './room-message.ts'
import { findHits, type SearchedMessage, type SearchHit } from './search-hit.ts'

/** A room whose history is searched, and what opens it. */
export interface SearchedRoom {
  room: Pick<Room, 'id' | 'slug' | 'sharesEarlierKeys'>
  keys: RoomKeys
  salts: Salts
}

/** What the worker is told: to open messages and keep them, or to find words in those it has. */
export type SearchRequest = { number: number } & (
  | { type: 'keep'; searched: SearchedRoom; stored: readonly StoredRoomMessage[] }
  | { type: 'find'; words: string }
)

/** What it answers, by the number of the order. */
export interface SearchResponse {
  number: number
  reach: HistoryReach
  hits: SearchHit[]
}

/** How much is read. */
export interface HistoryReach {
  count: number
  /** The id of the newest message. */
  newest: number
  isFull: boolean
}

/** Characters that are held at most. */
const MAX_TEXT = 100_000_000

/** The opened texts, held here alone: the policy of this worker lets it send nothing to anywhere but its page. */
const messages = new Map<string, SearchedMessage>()
let size = 0
let newest = 0

async function addMessages({ room, keys, salts }: SearchedRoom, stored: readonly StoredRoomMessage[]): Promise<void> {
  const opener = new MessageOpener(room.slug, salts)
  const opened = await Promise.all(stored.map((each) => opener.open(each, keys, room.sharesEarlierKeys)))
  for (const { id, thread, authorName, model, createdAt, text } of opened) {
    size += text.length - (messages.get(id)?.text.length ?? 0)
    newest = Math.max(newest, Number(id))
    messages.set(id, { id, thread, authorName, model, createdAt, text })
  }
}

async function handleRequest(order: SearchRequest): Promise<SearchResponse> {
  if (order.type === 'keep') await addMessages(order.searched, order.stored)
  const hits = order.type === 'find' ? findHits(messages.values(), order.words) : []
  return { number: order.number, reach: { count: messages.size, newest, isFull: size > MAX_TEXT }, hits }
}

addEventListener('message', ({ data }: MessageEvent<SearchRequest>) => {
  handleRequest(data).then((report) => postMessage(report), reportError)
})
