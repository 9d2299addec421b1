import type { RoomKeys, Salts } from '../../browser/crypto.ts'
import type { Room, StoredRoomMessage } from './room.ts'
import { MessageOpener } from './room-message.ts'
import { findHits, type SearchedMessage, type SearchHit } from './search-hit.ts'

/** A room whose history is searched, with its keys. */
export interface SearchedRoom {
  room: Pick<Room, 'id' | 'slug' | 'sharesEarlierKeys'>
  keys: RoomKeys
  salts: Salts
}

/** A request to the worker: to decrypt and keep messages, or to find words in them. */
export type SearchRequest = { number: number } & (
  | { type: 'keep'; searched: SearchedRoom; stored: readonly StoredRoomMessage[] }
  | { type: 'find'; words: string }
)

/** The response to the request with this number. */
export interface SearchResponse {
  number: number
  reach: HistoryReach
  hits: SearchHit[]
}

/** The part of the history that is read. */
export interface HistoryReach {
  count: number
  /** The id of the newest message. */
  newest: number
  isFull: boolean
}

/** The most characters that are kept in memory. */
const MAX_TEXT = 100_000_000

/** The decrypted texts. The CSP of this worker forbids requests, so only its page receives them. */
const messages = new Map<string, SearchedMessage>()
let size = 0
let newest = 0

async function addMessages({ room, keys, salts }: SearchedRoom, stored: readonly StoredRoomMessage[]): Promise<void> {
  const opener = new MessageOpener(room.slug, salts)
  const decrypted = await Promise.all(stored.map((each) => opener.open(each, keys, room.sharesEarlierKeys)))
  for (const { id, thread, authorName, model, createdAt, text } of decrypted) {
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
