import type { TextNote } from '../../../entities/sql/extracted-text.ts'
import type { TextMark, UnreadableReason } from '../../../routers/ports/files/text-extractor.ts'

/** Collects text up to a maximum number of characters, and drops the rest. */
export interface TextCollector {
  add(text: string): void
  /** Marks the place where the next text begins. The text ends at the first mark too many. */
  mark(kind: TextMark['kind'], value?: number): void
  /** Records that something of the file is missing in the text. */
  reportGap(gap: TextNote['gap'], count?: number): void
  readonly isFull: boolean
  /** Returns the collected text, without control characters. */
  result(): { text: string; marks: TextMark[]; truncated: boolean; notes: TextNote[] }
}

/** A file of empty headings could have more marks than characters. */
export const MAX_MARKS = 50_000

export function createTextCollector(max: number): TextCollector {
  const parts: string[] = []
  const gaps = new Map<TextNote['gap'], number>()
  const marks: TextMark[] = []
  let remaining = max
  let truncated = false
  return {
    add(text) {
      if (text.length > remaining) truncated = true
      const part = text.slice(0, remaining)
      remaining -= part.length
      if (part) parts.push(part)
    },
    mark(kind, value) {
      if (remaining <= 0) return
      if (marks.length < MAX_MARKS) marks.push({ kind, at: max - remaining, value: toMarkValue(kind, value) })
      else {
        // Text behind it would seem to stand at the last place that has a mark.
        truncated = true
        remaining = 0
      }
    },
    reportGap(gap, count = 1) {
      if (count > 0) gaps.set(gap, (gaps.get(gap) ?? 0) + count)
    },
    get isFull() {
      return remaining <= 0
    },
    result: () => ({
      ...cleanText({ text: parts.join(''), marks }),
      truncated,
      notes: Array.from(gaps, ([gap, count]) => ({ gap, count })),
    }),
  }
}

/** OpenDocument has the deepest headings. A passage has a heading of each level above it. */
const DEEPEST_HEADING = 10

/** A file may say anything of the level of a heading, and a parser hands on what it makes of it. */
function toMarkValue(kind: TextMark['kind'], value: number | undefined): number {
  if (value === undefined) return 0
  if (!Number.isSafeInteger(value) || value < 1) return 1
  return kind === 'heading' ? Math.min(value, DEEPEST_HEADING) : value
}

interface MarkedText {
  text: string
  marks: TextMark[]
}

/** These are replaced in a text, in this order: line ends, control characters, spaces at the end of lines, and repeated empty lines. */
const replacements: readonly [pattern: RegExp, replacement: string][] = [
  [/\r\n?/g, '\n'],
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed.
  [/[\0-\b\v\f\x0e-\x1f\x7f]/g, ''],
  // Without the look-behind, the time would grow with the square of a long run of blanks.
  [/(?<![ \t])[ \t]+\n/g, '\n'],
  [/\n{3,}/g, '\n\n'],
]

/** Removes control characters, lone surrogates and repeated empty lines, and moves the marks along. */
const cleanText = ({ text, marks }: MarkedText): MarkedText =>
  trimMarked(
    replacements.reduce<MarkedText>((cleaned, [pattern, replacement]) => replaceMarked(cleaned, pattern, replacement), {
      text: text.toWellFormed(),
      marks,
    }),
  )

function trimMarked({ text, marks }: MarkedText): MarkedText {
  const start = text.length - text.trimStart().length
  const trimmed = text.trim()
  return {
    text: trimmed,
    marks: marks.map((mark) => ({ ...mark, at: Math.min(Math.max(0, mark.at - start), trimmed.length) })),
  }
}

/** Replaces each match. A mark within a match moves to the end of its replacement. */
function replaceMarked({ text, marks }: MarkedText, pattern: RegExp, replacement: string): MarkedText {
  const moved: TextMark[] = []
  let removed = 0
  const moveUntil = (end: number, limit: number) => {
    for (let mark = marks[moved.length]; mark && mark.at < end; mark = marks[moved.length])
      moved.push({ ...mark, at: Math.min(mark.at - removed, limit) })
  }
  const replaced = text.replace(pattern, (match: string, at: number) => {
    moveUntil(at + 1, Number.POSITIVE_INFINITY)
    moveUntil(at + match.length, at - removed + replacement.length)
    removed += match.length - replacement.length
    return replacement
  })
  moveUntil(Number.POSITIVE_INFINITY, replaced.length)
  return { text: replaced, marks: moved }
}

/** Ends an extraction with the reason why the file has no text. */
export class UnreadableError extends Error {
  override name = 'Unreadable'
  readonly reason: UnreadableReason

  constructor(reason: UnreadableReason, cause?: unknown) {
    super(reason, { cause })
    this.reason = reason
  }
}
