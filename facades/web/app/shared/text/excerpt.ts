/** A match of a search with the text around it. */
export interface Excerpt {
  before: string
  words: string
  after: string
}

/** Characters shown before and after a match. */
const CONTEXT_LENGTH = 50

/** Returns the first match of a pattern in a text; undefined if there is none. */
export function findExcerpt(text: string, pattern: RegExp): Excerpt | undefined {
  const match = pattern.exec(text)
  if (!match) return undefined
  const at = match.index
  const end = at + match[0].length
  const [before, after] = [text.slice(Math.max(0, at - CONTEXT_LENGTH), at), text.slice(end, end + CONTEXT_LENGTH)]
  return {
    before: at > CONTEXT_LENGTH ? `… ${stripMarkdown(before.replace(firstWord, ''))}` : stripMarkdown(before),
    words: match[0],
    after:
      end + CONTEXT_LENGTH < text.length ? `${stripMarkdown(after.replace(lastWord, ''))} …` : stripMarkdown(after),
  }
}

/** Words that the ends of a context cut, if there are others. */
const [firstWord, lastWord] = [/^\S+\s+(?=\S)/, /(?<=\S)\s+\S+$/]

/** Removes most Markdown syntax from a text and puts it on one line. */
export const stripMarkdown = (text: string): string =>
  text
    .replace(/\*\*|__|~~|`+/g, '')
    .replace(/^[ \t]*(?:#{1,6}|>|[-*+])[ \t]|\||:?-{3,}:?/gm, ' ')
    .replace(/\s+/g, ' ')
