import { type Excerpt, findExcerpt } from '../shared/text/excerpt.ts'
import type { RoomMessage } from './room-message.ts'

/** The most hits that are shown, the newest first. */
const MAX_HITS = 100

/** A message that matches the search. */
export type SearchHit = Pick<RoomMessage, 'id' | 'thread' | 'authorName' | 'model' | 'createdAt'> & {
  excerpt: Excerpt
}

/** The parts of a message that are searched and shown. */
export type SearchedMessage = Omit<SearchHit, 'excerpt'> & Pick<RoomMessage, 'text'>

/** Finds the newest messages with these words. */
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
