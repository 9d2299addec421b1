/** Words that were found in a text, and what stands around them. */
export interface Excerpt {
  before: string
  words: string
  after: string
}

/** Characters that are shown before and after what was found. */
const CONTEXT_LENGTH = 50

/** The first place of a text with these words, whatever their case; undefined where there is none. */
export function findExcerpt(text: string, words: string): Excerpt | undefined {
  const wanted = words.toLocaleLowerCase()
  const at = text.toLocaleLowerCase().indexOf(wanted)
  if (at === -1 || wanted === '') return undefined
  const end = at + wanted.length
  return {
    before: (at > CONTEXT_LENGTH ? '…' : '') + stripMarkdown(text.slice(Math.max(0, at - CONTEXT_LENGTH), at)),
    words: text.slice(at, end),
    after: stripMarkdown(text.slice(end, end + CONTEXT_LENGTH)) + (end + CONTEXT_LENGTH < text.length ? '…' : ''),
  }
}

/** A piece of Markdown as one line that people read, without most of its signs. */
export const stripMarkdown = (text: string): string =>
  text
    .replace(/\*\*|__|~~|`+/g, '')
    .replace(/^[ \t]*(?:#{1,6}|>|[-*+])[ \t]|\||:?-{3,}:?/gm, ' ')
    .replace(/\s+/g, ' ')
