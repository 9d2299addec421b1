/** Words that were found in a text, and what stands around them. */
export interface Excerpt {
  before: string
  words: string
  after: string
}

/** Characters that are shown before and after what was found. */
const AROUND = 50

/** The first place of a text with these words, whatever their case; undefined where there is none. */
export function findExcerpt(text: string, words: string): Excerpt | undefined {
  const wanted = words.toLocaleLowerCase()
  const at = text.toLocaleLowerCase().indexOf(wanted)
  if (at === -1 || wanted === '') return undefined
  const end = at + wanted.length
  return {
    before: (at > AROUND ? '…' : '') + withoutMarks(text.slice(Math.max(0, at - AROUND), at)),
    words: text.slice(at, end),
    after: withoutMarks(text.slice(end, end + AROUND)) + (end + AROUND < text.length ? '…' : ''),
  }
}

/** A piece of Markdown as one line that people read, without most of its signs. */
export const withoutMarks = (text: string): string =>
  text
    .replace(/\*\*|__|~~|`+/g, '')
    .replace(/^[ \t]*(?:#{1,6}|>|[-*+])[ \t]|\||:?-{3,}:?/gm, ' ')
    .replace(/\s+/g, ' ')
