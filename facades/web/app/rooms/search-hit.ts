import { type Excerpt, findExcerpt } from '../shared/text/excerpt.ts'
import type { RoomMessage } from './room-message.ts'

/** As many are shown at most, the newest. */
const MAX_HITS = 100

/** A message with words that were searched for. */
export type SearchHit = Pick<RoomMessage, 'id' | 'thread' | 'authorName' | 'model' | 'createdAt'> & {
  excerpt: Excerpt
}

/** What of a message is searched and shown. */
export type SearchedMessage = Omit<SearchHit, 'excerpt'> & Pick<RoomMessage, 'text'>

/** The newest messages with these words. */
export function findHits(messages: Iterable<SearchedMessage>, words: string): SearchHit[] {
  const hits: SearchHit[] = []
  for (const { id, thread, authorName, model, createdAt, text } of messages) {
    const excerpt = findExcerpt(text, words)
    if (excerpt) hits.push({ id, thread, authorName, model, createdAt, excerpt })
  }
  return takeNewest(hits)
}

export const takeNewest = (hits: readonly SearchHit[]): SearchHit[] =>
  hits.toSorted((one, other) => Number(other.id) - Number(one.id)).slice(0, MAX_HITS)
