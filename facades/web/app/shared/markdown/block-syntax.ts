import { isBlank } from './characters.ts'
import type { Alignment } from './tokens.ts'

/** The fence that begins a block of code. */
export interface Fence {
  mark: string
  info: string
  indent: number
}

/** The distance of tab stops. */
const TAB_WIDTH = 4

/** Returns the column in which the text of a line begins, if the line begins in the given column. */
export function getIndent(line: string, firstColumn = 0): number {
  let column = firstColumn
  for (const character of line) {
    if (character === ' ') column++
    else if (character === '\t') column += TAB_WIDTH - (column % TAB_WIDTH)
    else break
  }
  return column
}

/** Removes so many columns. Of a tab that reaches further, the rest stays as blanks. */
export function skipColumns(line: string, columns: number): string {
  let [column, at] = [0, 0]
  for (; column < columns && at < line.length; at++) column += line[at] === '\t' ? TAB_WIDTH - (column % TAB_WIDTH) : 1
  return ' '.repeat(Math.max(0, column - columns)) + line.slice(at)
}

/** Removes up to so many columns of blanks. */
export const removeIndent = (line: string, indent: number): string =>
  skipColumns(line, Math.min(indent, getIndent(line)))

export function readFence(line: string): Fence | undefined {
  const indent = getIndent(line)
  const match = indent < 4 ? /^(?:(`{3,})([^`]*)|(~{3,})(.*))$/.exec(line.trimStart()) : null
  return match ? { mark: match[1] ?? match[3] ?? '', info: (match[2] ?? match[4] ?? '').trim(), indent } : undefined
}

export function isFenceEnd(line: string, { mark }: Fence): boolean {
  const text = line.trim()
  return getIndent(line) < 4 && text.length >= mark.length && text === (mark[0] ?? '').repeat(text.length)
}

/** Follows lines to tell those within a block of code. */
export class FenceTracker {
  #fence: Fence | undefined

  get isOpen(): boolean {
    return this.#fence !== undefined
  }

  follow(line: string): void {
    if (!this.#fence) this.#fence = readFence(line)
    else if (isFenceEnd(line, this.#fence)) this.#fence = undefined
  }
}

/** The mark of an item of a list. */
export interface ListMark {
  indent: number
  /** The column in which the content of the item begins. */
  contentIndent: number
  isOrdered: boolean
  number: number
  /** The character by which lists that follow one another are told apart. */
  kind: string
  isEmpty: boolean
}

export function readListMark(line: string): ListMark | undefined {
  const indent = getIndent(line)
  if (indent > 3) return undefined
  const text = line.trimStart()
  const match = /^(?:([-*+])|(\d{1,9})([.)]))(?=[ \t]|$)/.exec(text)
  if (!match || isRule(line)) return undefined
  const end = indent + match[0].length
  const inner = text.slice(match[0].length)
  const blanks = getIndent(inner, end) - end
  const isEmpty = isBlank(inner)
  return {
    indent,
    contentIndent: end + (isEmpty || blanks > TAB_WIDTH ? 1 : blanks),
    isOrdered: match[2] !== undefined,
    number: Number(match[2] ?? 0),
    kind: match[1] ?? match[3] ?? '',
    isEmpty,
  }
}

export function isRule(line: string): boolean {
  if (getIndent(line) > 3) return false
  const marks = line.replace(/[ \t]/g, '')
  const [mark = ''] = marks
  return marks.length >= 3 && '-*_'.includes(mark) && marks === mark.repeat(marks.length)
}

export function readHeading(line: string): { level: number; text: string } | undefined {
  const match = /^ {0,3}(#{1,6})(?:[ \t]|$)/.exec(line)
  if (!match) return undefined
  const text = line.slice(match[0].length).trim()
  const end = text.length - (/(?:^|[ \t])#{1,1000}$/.exec(text.slice(-1001))?.[0].length ?? 0)
  return { level: match[1]?.length ?? 1, text: text.slice(0, end).trim() }
}

export const isQuote = (line: string): boolean => getIndent(line) < 4 && line.trimStart().startsWith('>')

/** Returns the line without its mark of a quotation and the blank behind that. */
export const removeQuoteMark = (line: string): string =>
  line
    .trimStart()
    .slice(1)
    .replace(/^(?: |(\t))/, (_, tab?: string) => (tab ? '  ' : ''))

/** Returns the kind of line under a heading, 1 for `=` and 2 for `-`. */
export function readUnderline(line: string): 1 | 2 | undefined {
  const text = line.trim()
  const [mark = ''] = text
  if (getIndent(line) > 3 || (mark !== '=' && mark !== '-') || text !== mark.repeat(text.length)) return undefined
  return mark === '=' ? 1 : 2
}

/** Returns true if a line begins with a bar, as rows of tables do. */
export const isRow = (line: string): boolean => line.trimStart().startsWith('|')

/** Splits a row of a table at its bars, of which those behind a backslash are text. */
export function splitRow(line: string): string[] {
  const text = line.trim().replace(/^\|/, '')
  const cells: string[] = []
  let cell = ''
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\' && text[at + 1] === '|') {
      cell += '|'
      at++
    } else if (text[at] === '|') {
      cells.push(cell.trim())
      cell = ''
    } else cell += text[at]
  }
  return cell.trim() === '' && text.endsWith('|') && !text.endsWith('\\|') ? cells : [...cells, cell.trim()]
}

/** The most columns of a table. */
const MAX_COLUMNS = 100

/** Reads the line under the header of a table; returns undefined if the line is none. */
export function readAlignments(line: string): Alignment[] | undefined {
  if (!/^[\s|:-]+$/.test(line) || !line.includes('-') || getIndent(line) > 3) return undefined
  const cells = splitRow(line)
  const isDelimiter = (cells.length > 1 || line.includes('|')) && cells.length <= MAX_COLUMNS
  if (!isDelimiter || !cells.every((cell) => /^:?-+:?$/.test(cell))) return undefined
  return cells.map((cell) => {
    if (cell.startsWith(':') && cell.endsWith(':')) return 'center'
    if (cell.endsWith(':')) return 'right'
    return cell.startsWith(':') ? 'left' : undefined
  })
}
