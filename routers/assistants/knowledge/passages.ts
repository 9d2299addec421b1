import { estimateTokens } from '../../ports/ai/token-estimate.ts'
import type { TextMark } from '../../ports/files/text-extractor.ts'

/** A part of a text that a search finds as a whole. */
export interface Passage {
  /** Offsets into the text; the end is exclusive. */
  from: number
  to: number
  /** The page or slide; null if the text has none. */
  page: number | null
  /** The headings above it, the highest first. */
  headings: string[]
  /** The head of the table whose rows it has, unless they include it. */
  tableHead?: string
}

/** Largest estimated tokens of a passage. */
const MAX_TOKENS = 450

/** Neighbours are joined up to so many tokens. */
const SMALL_TOKENS = 200

/** A sentence of at most so many tokens is repeated in the next passage. */
const MAX_OVERLAP_TOKENS = 60

/** A part of a text, with its estimated tokens. */
interface Piece {
  from: number
  to: number
  tokens: number
}

/** A part of a text under the same headings: running text, or a table. */
interface Section {
  from: number
  to: number
  headings: string[]
  isTable: boolean
}

/**
 * Cuts a text into passages: at pages, headings and tables, then at paragraphs, then at sentences. Short neighbours on a page
 * are joined, so that each passage is on one page, which a citation names. Each is cut when it is taken, as a text may be long.
 */
export function cutPassages(text: string, marks: readonly TextMark[]): Generator<Passage, void> {
  const pages = marks.filter(({ kind }) => kind === 'page')
  const cuts = splitSections(text, marks).flatMap((section) =>
    section.isTable ? cutTable(text, section) : cutProse(text, section),
  )
  return joinSmall(
    text,
    cuts.map((cut) => ({ ...cut, page: findPage(pages, cut.from) })),
  )
}

interface Cut extends Passage {
  isTable: boolean
}

type UnplacedCut = Omit<Cut, 'page'>

function* splitSections(text: string, marks: readonly TextMark[]): Generator<Section, void> {
  const path: { level: number; heading: string }[] = []
  let section: Section = { from: 0, to: 0, headings: [], isTable: false }
  for (const { kind, at, value } of marks) {
    yield* trimSection(text, { ...section, to: at })
    if (kind === 'heading') {
      while (path.length > 0 && (path.at(-1)?.level ?? 0) >= value) path.pop()
      path.push({ level: value, heading: readHeading(text, at) })
    }
    section = {
      from: at,
      to: at,
      headings: path.map(({ heading }) => heading),
      isTable: kind === 'table',
    }
  }
  yield* trimSection(text, { ...section, to: text.length })
}

const trimSection = (text: string, section: Section): Section[] =>
  [{ ...section, ...trim(text, section) }].filter(isFilled)

const MAX_HEADING = 200

/** Reads the line of a heading, without the signs of Markdown. */
function readHeading(text: string, at: number): string {
  const [line = ''] = text
    .slice(at, at + 2 * MAX_HEADING)
    .trimStart()
    .split('\n', 1)
  return line.replace(/^#+\s+|\s+#+\s*$/g, '').slice(0, MAX_HEADING)
}

const isFilled = ({ from, to }: { from: number; to: number }) => from < to

function trim(text: string, { from, to }: { from: number; to: number }): { from: number; to: number } {
  const part = text.slice(from, to)
  const start = from + part.length - part.trimStart().length
  return { from: start, to: Math.max(start, from + part.trimEnd().length) }
}

const measure = (text: string, from: number, to: number): Piece => ({
  from,
  to,
  tokens: estimateTokens(text.slice(from, to)),
})

/** Joins pieces as long as they fit. `reopen` begins the next part with the piece that did not fit. */
function* joinPieces(
  pieces: Iterable<Piece>,
  fits: (open: Piece, piece: Piece) => boolean,
  reopen: (piece: Piece, last: Piece, open: Piece) => Piece,
): Generator<Piece, void> {
  let open: Piece | undefined
  let last: Piece | undefined
  for (const piece of pieces) {
    if (!open || !last) open = piece
    else if (fits(open, piece)) open = append(open, piece)
    else {
      yield open
      open = reopen(piece, last, open)
    }
    last = piece
  }
  if (open) yield open
}

const append = (open: Piece, piece: Piece): Piece => ({
  from: open.from,
  to: piece.to,
  tokens: open.tokens + piece.tokens,
})

/** Fills passages with paragraphs and sentences. Each continues with the last sentence of the one before, if that is short. */
function cutProse(text: string, { from, to, headings }: Section): IteratorObject<UnplacedCut> {
  const fits = (open: Piece, piece: Piece) => open.tokens + piece.tokens <= MAX_TOKENS
  const repeatSentence = (piece: Piece, last: Piece, open: Piece) => {
    const sentence = findLastSentence(text, last)
    const isShort = sentence !== undefined && sentence.tokens <= MAX_OVERLAP_TOKENS && fits(sentence, piece)
    return isShort && sentence.from > open.from ? append(sentence, piece) : piece
  }
  const parts = joinPieces(splitProse(text, from, to), fits, repeatSentence)
  return parts.map((part) => ({ ...trim(text, part), headings, isTable: false })).filter(isFilled)
}

/** Yields paragraphs, and the sentences of those that are too long. */
function* splitProse(text: string, from: number, to: number): Generator<Piece, void> {
  for (const paragraph of splitAt(text, from, to, /\n[ \t]*\n\s*/g)) {
    if (paragraph.tokens <= MAX_TOKENS) yield paragraph
    else for (const sentence of splitSentences(text, paragraph)) yield* splitLong(text, sentence)
  }
}

/** Splits a part behind each match. */
function* splitAt(text: string, from: number, to: number, pattern: RegExp): Generator<Piece, void> {
  const part = text.slice(from, to)
  let at = 0
  for (const { index, 0: match } of part.matchAll(pattern)) {
    const end = index + match.length
    yield measure(text, from + at, from + end)
    at = end
  }
  if (at < part.length) yield measure(text, from + at, to)
}

const sentences = new Intl.Segmenter(undefined, { granularity: 'sentence' })

function* splitSentences(text: string, { from, to }: Piece): Generator<Piece, void> {
  for (const { index, segment } of sentences.segment(text.slice(from, to)))
    yield measure(text, from + index, from + index + segment.length)
}

function findLastSentence(text: string, piece: Piece): Piece | undefined {
  return [...splitSentences(text, piece)].findLast(({ from, to }) => text.slice(from, to).trim() !== '')
}

/** Splits what has no sentences, such as a line of data, at spaces where there are some. */
function* splitLong(text: string, piece: Piece): Generator<Piece, void> {
  if (piece.tokens <= MAX_TOKENS) return yield piece
  const step = Math.max(1, Math.floor(((piece.to - piece.from) * MAX_TOKENS) / piece.tokens / 1.1))
  for (let at = piece.from; at < piece.to; ) {
    const limit = Math.min(piece.to, at + step)
    // Only this part is looked through: a long text without a space would be read from its beginning each time.
    const space = limit < piece.to ? text.slice(at, limit + 1).lastIndexOf(' ') : -1
    const end = space > 0 ? at + space + 1 : skipHalfCharacter(text, limit)
    yield measure(text, at, end)
    at = end
  }
}

const skipHalfCharacter = (text: string, at: number) => (/[\uDC00-\uDFFF]/.test(text[at] ?? '') ? at + 1 : at)

/** Splits a table that is too large between its rows; each further part gets the head of the table. */
function cutTable(text: string, { from, to, headings }: Section): IteratorObject<UnplacedCut> {
  const whole = measure(text, from, to)
  if (whole.tokens <= MAX_TOKENS) return [{ from, to, headings, isTable: true }].values()
  const head = readTableHead(text.slice(from, to))
  const headTokens = estimateTokens(head)
  const tableHead = headTokens <= MAX_TOKENS / 2 ? head : undefined
  const isFirst = (part: { from: number }) => part.from === from
  const rows = splitAt(text, from, to, /\n/g).flatMap((row) => splitLong(text, row))
  const fits = (open: Piece, row: Piece) =>
    open.tokens + row.tokens <= MAX_TOKENS - (tableHead && !isFirst(open) ? headTokens : 0)
  return joinPieces(rows, fits, (row) => row)
    .map((part) => ({
      ...trim(text, part),
      headings,
      isTable: true,
      ...(tableHead && !isFirst(part) && { tableHead }),
    }))
    .filter(isFilled)
}

/** Returns the first row, and the line below it if Markdown has one there. */
function readTableHead(table: string): string {
  const [first = '', second = ''] = table.split('\n', 2)
  return /^[\s|:-]+$/.test(second) && second.includes('-') ? `${first}\n${second}` : first
}

/** Joins short neighbours, unless one is a table. They keep the headings that they share. */
function* joinSmall(text: string, cuts: Iterable<Cut>): Generator<Cut, void> {
  let open: Cut | undefined
  for (const cut of cuts) {
    const canJoin = open && open.page === cut.page && !open.isTable && !cut.isTable
    if (open && canJoin && measure(text, open.from, cut.to).tokens <= SMALL_TOKENS)
      open = { ...open, to: cut.to, headings: findShared(open.headings, cut.headings) }
    else {
      if (open) yield open
      open = cut
    }
  }
  if (open) yield open
}

function findShared(one: readonly string[], other: readonly string[]): string[] {
  const end = one.findIndex((heading, at) => heading !== other[at])
  return one.slice(0, end < 0 ? one.length : end)
}

/** Returns the last page that begins before a place or there. */
function findPage(pages: readonly TextMark[], at: number): number | null {
  let [low, high] = [0, pages.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((pages[middle]?.at ?? 0) <= at) low = middle + 1
    else high = middle
  }
  return pages[low - 1]?.value ?? null
}

/** Returns the text of a passage as people and models read it. */
export const readPassage = (text: string, { from, to, tableHead }: Passage): string =>
  `${tableHead ? `${tableHead}\n` : ''}${text.slice(from, to)}`
