import { BlockParser } from './block-parser.ts'
import type { InlineContext } from './inline-parser.ts'
import { References } from './references.ts'
import type { Block } from './tokens.ts'
import { BudgetExceeded, WorkBudget } from './work-budget.ts'

/** Longer texts are shown as they were written from here on, as every element costs the browser time. */
export const MAX_PARSED_LENGTH = 200_000

interface ParserOptions {
  /** True for texts of people, whose line breaks are kept. */
  hasLineBreaks?: boolean
}

/** The blocks of a text. */
export interface ParsedText {
  blocks: Block[]
  /** The steps of the parser, by which a test compares texts. */
  steps: number
}

/** A block of the whole text, with its first line and the line behind it. */
interface TopBlock {
  block: Block
  start: number
  end: number
  /** The range of the parser's completions that belong to it. */
  completions: readonly [number, number]
}

/** Parses a text. What would cost too much is shown as it was written. */
export function parseMarkdown(text: string, options: ParserOptions = {}): ParsedText {
  const { blocks, steps } = parseLines(text, options)
  return { blocks: blocks.map(({ block }) => block), steps }
}

function parseLines(text: string, { hasLineBreaks = false }: ParserOptions) {
  const { parsed, rest } = splitAtBound(text)
  const lines = parsed.replace(/\r\n?/g, '\n').replaceAll('\0', '\ufffd').split('\n')
  const budget = new WorkBudget(parsed.length)
  const references = new References()
  const context = { budget, references, hasLineBreaks }
  const parser = new BlockParser(lines, context)
  const blocks = readBlocks(parser, lines)
  completeBlocks(blocks, parser, lines)
  const notes = readNotes(context)
  references.labels.resolve()
  const extra: TopBlock[] = [...notes, ...(rest === '' ? [] : [asPlain(rest)])].map((block) => ({
    block,
    start: lines.length,
    end: lines.length,
    completions: [0, 0],
  }))
  return { blocks: [...blocks, ...extra], lines, steps: budget.steps }
}

/** Splits a text behind the last whole line that is parsed. */
function splitAtBound(text: string): { parsed: string; rest: string } {
  if (text.length <= MAX_PARSED_LENGTH) return { parsed: text, rest: '' }
  const lineEnd = text.lastIndexOf('\n', MAX_PARSED_LENGTH)
  const end = lineEnd === -1 ? 0 : lineEnd + 1
  return { parsed: text.slice(0, end), rest: text.slice(end) }
}

const asPlain = (text: string): Block => ({ type: 'plain', text, source: text })

function readBlocks(parser: BlockParser, lines: readonly string[]): TopBlock[] {
  const blocks: TopBlock[] = []
  for (let at = 0; at < lines.length; ) {
    const first = parser.completions.length
    try {
      const { block, end } = parser.readBlock(at)
      if (block) blocks.push({ block, start: at, end, completions: [first, parser.completions.length] })
      at = end
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error
      return [...blocks, buildRest(lines, at)]
    }
  }
  return blocks
}

const buildRest = (lines: readonly string[], start: number): TopBlock => ({
  block: asPlain(lines.slice(start).join('\n')),
  start,
  end: lines.length,
  completions: [0, 0],
})

/** Fills in the lines of all blocks, up to one that costs too much. */
function completeBlocks(blocks: TopBlock[], parser: BlockParser, lines: readonly string[]): void {
  for (const [index, { start, completions }] of blocks.entries()) {
    try {
      for (const complete of parser.completions.slice(...completions)) complete()
    } catch (error) {
      if (!(error instanceof BudgetExceeded)) throw error
      blocks.splice(index, blocks.length, buildRest(lines, start))
      return
    }
  }
}

function readNotes(context: InlineContext): Block[] {
  const notes = context.references.listNotes()
  if (notes.length === 0) return []
  const source = notes.map(({ lines }) => lines.join('\n')).join('\n')
  try {
    const parsed = notes.map(({ number, lines }) => {
      const parser = new BlockParser(lines, context, 1)
      const blocks = parser.readAll()
      for (const complete of parser.completions) complete()
      return { number, blocks }
    })
    return [{ type: 'notes', notes: parsed, source }]
  } catch (error) {
    if (!(error instanceof BudgetExceeded)) throw error
    return [asPlain(source)]
  }
}

/** The last blocks, which the next character may still turn into something else. */
const OPEN_BLOCKS = 2

/** Blocks that end with the blank line behind them, as lists and quotations do not: one block behind them is enough. */
const endedByBlank: readonly Block['type'][] = ['paragraph', 'heading', 'code', 'table', 'rule']

/** A formula in lines of its own. It may have not ended, and is shown as paragraphs until it does. */
const FORMULA = /^\s*(?:\$\$|\\\[|\\begin\{)/m

/** Parses a growing text incrementally: finished blocks are not parsed again and keep their identity. */
export class IncrementalMarkdown {
  readonly #options: ParserOptions
  #finished = ''
  #blocks: Block[] = []

  constructor(options: ParserOptions = {}) {
    this.#options = options
  }

  parse(text: string): readonly Block[] {
    // Definitions and labels may be used anywhere in the text.
    if (/^ {0,3}\[[^\]\n]+\]:|\\label\{/m.test(text) || text.length > MAX_PARSED_LENGTH) {
      this.#finished = ''
      this.#blocks = []
      return withContext(parseMarkdown(text, this.#options).blocks, text)
    }
    if (!text.startsWith(this.#finished)) {
      this.#finished = ''
      this.#blocks = []
    }
    const { blocks, lines } = parseLines(text.slice(this.#finished.length), this.#options)
    const known = this.#blocks
    this.#finish(blocks, lines, text)
    return [...known, ...blocks.map(({ block }) => block)]
  }

  /** Keeps the blocks that a blank line ends, and that as many blocks follow as it takes. */
  #finish(blocks: readonly TopBlock[], lines: readonly string[], text: string): void {
    const hasFormula = blocks.some(({ block }) => FORMULA.test(block.source))
    const countOpen = ({ type }: Block) => (hasFormula || !endedByBlank.includes(type) ? OPEN_BLOCKS : 1)
    const isFinished = ({ block, end }: TopBlock, index: number) =>
      block.type !== 'plain' && lines[end]?.trim() === '' && index < blocks.length - countOpen(block)
    const count = blocks.findLastIndex(isFinished) + 1
    const last = blocks[count - 1]
    if (!last || /[\r\0]/.test(text)) return
    this.#finished += `${lines.slice(0, last.end + 1).join('\n')}\n`
    this.#blocks = [...this.#blocks, ...blocks.slice(0, count).map(({ block }) => block)]
  }
}

/** Makes blocks differ when a definition elsewhere in the text changes what they mean. */
function withContext(blocks: readonly Block[], text: string): Block[] {
  const definitions = text.match(/^ {0,3}\[[^\]\n]+\]:.*|\\(?:label|tag)\*?\{[^{}\n]*\}/gm)?.join('\n') ?? ''
  return blocks.map((block) => ({ ...block, source: `${block.source}\n${definitions}` }))
}
