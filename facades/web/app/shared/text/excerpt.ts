/** A match of a search with the text around it. */
export interface Excerpt {
  before: string
  words: string
  after: string
}

/** Characters shown before and after a match. */
const CONTEXT_LENGTH = 50

/** Returns the first match in a text, ignoring case; undefined if there is none. */
export function findExcerpt(text: string, words: string): Excerpt | undefined {
  const needle = words.toLocaleLowerCase()
  const at = text.toLocaleLowerCase().indexOf(needle)
  if (at === -1 || needle === '') return undefined
  const end = at + needle.length
  return {
    before: (at > CONTEXT_LENGTH ? '…' : '') + stripMarkdown(text.slice(Math.max(0, at - CONTEXT_LENGTH), at)),
    words: text.slice(at, end),
    after: stripMarkdown(text.slice(end, end + CONTEXT_LENGTH)) + (end + CONTEXT_LENGTH < text.length ? '…' : ''),
  }
}

/** Removes most Markdown syntax from a text and puts it on one line. */
export const stripMarkdown = (text: string): string =>
  text
    .replace(/\*\*|__|~~|`+/g, '')
    .replace(/^[ \t]*(?:#{1,6}|>|[-*+])[ \t]|\||:?-{3,}:?/gm, ' ')
    .replace(/\s+/g, ' ')
