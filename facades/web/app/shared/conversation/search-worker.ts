import { type Excerpt, findExcerpt } from '../text/excerpt.ts'
import { buildWordPattern } from '../text/word-pattern.ts'

/** The texts of a conversation or of a message, which are kept and forgotten together. */
export interface TextGroup<Place> {
  id: string
  /** The groups with the largest numbers are searched first. */
  order: number
  texts: { place: Place; text: string }[]
}

/** A request to the worker: to keep texts, to forget them, or to find words in them. */
export type SearchRequest<Place = unknown> = { number: number } & (
  | { type: 'keep'; groups: readonly TextGroup<Place>[] }
  | { type: 'drop'; ids: readonly string[] }
  | { type: 'find'; words: string }
)

/** A text that matches the search. */
export interface SearchHit<Place> {
  place: Place
  excerpt: Excerpt
}

/** The texts that are kept. */
export interface SearchReach {
  /** The number of groups. */
  count: number
  /** The largest number by which the groups are ordered. */
  newest: number
  isFull: boolean
}

/** The response to the request with this number. */
export interface SearchResponse<Place = unknown> {
  number: number
  reach: SearchReach
  hits: SearchHit<Place>[]
}

/** The most characters that are kept in memory. */
const MAX_TEXT = 100_000_000
/** The most hits of a search, the newest first. */
const MAX_HITS = 100

/** The decrypted texts. The CSP of this worker forbids requests, so only its page receives them. */
const groups = new Map<string, TextGroup<unknown>>()
let size = 0
let newest = 0

function drop(id: string): void {
  for (const { text } of groups.get(id)?.texts ?? []) size -= text.length
  groups.delete(id)
}

function keep(group: TextGroup<unknown>): void {
  drop(group.id)
  groups.set(group.id, group)
  for (const { text } of group.texts) size += text.length
  newest = Math.max(newest, group.order)
}

function find(words: string): SearchHit<unknown>[] {
  const pattern = buildWordPattern(words)
  if (!pattern) return []
  const newestFirst = [...groups.values()].toSorted((one, other) => other.order - one.order)
  const matches = newestFirst.values().flatMap(({ texts }) =>
    texts.values().flatMap(({ place, text }) => {
      const excerpt = findExcerpt(text, pattern)
      return excerpt ? [{ place, excerpt }] : []
    }),
  )
  return matches.take(MAX_HITS).toArray()
}

addEventListener('message', ({ data }: MessageEvent<SearchRequest>) => {
  if (data.type === 'keep') data.groups.forEach(keep)
  if (data.type === 'drop') data.ids.forEach(drop)
  const hits = data.type === 'find' ? find(data.words) : []
  const reach = { count: groups.size, newest, isFull: size > MAX_TEXT }
  postMessage({ number: data.number, reach, hits } satisfies SearchResponse)
})
