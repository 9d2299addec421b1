import {
  type Fence,
  FenceTracker,
  getIndent,
  isFenceEnd,
  isQuote,
  isRow,
  isRule,
  readAlignments,
  readFence,
  readHeading,
  readListMark,
  readUnderline,
  removeIndent,
  removeQuoteMark,
  splitRow,
} from './block-syntax.ts'
import { findDirection, isBlank } from './characters.ts'
import { readDefinition } from './definitions.ts'
import { DisplayFormulas } from './display-formulas.ts'
import { type InlineContext, parseInline } from './inline-parser.ts'
import { collectItem } from './list-items.ts'
import type { Block, BlockContent, Inline, ListItem, ListToken, MathsToken } from './tokens.ts'

/** The deepest nesting of lists and quotations; deeper ones are shown as text. */
export const MAX_BLOCK_DEPTH = 12

/** Fills in the content of lines, once all that they may refer to has been read. */
type Completion = () => void

/** A block that is read, and the index of the line behind it. */
interface ReadBlock {
  content: BlockContent | undefined
  end: number
}

/** Reads the blocks of a text. */
export class BlockParser {
  readonly #context: InlineContext
  readonly #lines: readonly string[]
  readonly #depth: number
  readonly completions: Completion[]
  readonly #formulas: DisplayFormulas

  constructor(lines: readonly string[], context: InlineContext, depth = 0, completions: Completion[] = []) {
    this.#lines = lines
    this.#context = context
    this.#depth = depth
    this.completions = completions
    this.#formulas = new DisplayFormulas(lines, context.budget)
  }

  readAll(): Block[] {
    const blocks: Block[] = []
    for (let at = 0; at < this.#lines.length; ) {
      const { block, end } = this.readBlock(at)
      if (block) blocks.push(block)
      at = end
    }
    return blocks
  }

  /** Reads the block that begins with this line; a blank line and a definition are none. */
  readBlock(at: number): { block: Block | undefined; end: number } {
    const { budget } = this.#context
    budget.takeSteps(1 + this.#getLine(at).length)
    const { content, end } = this.#read(at)
    const source = this.#lines.slice(at, end).join('\n')
    budget.takeSteps(source.length)
    if (content) budget.takeElements(1)
    // The object stays the same, as labels of formulas are resolved later.
    return { block: content && Object.assign(content, { source }), end }
  }

  #getLine(at: number): string {
    return this.#lines[at] ?? ''
  }

  #read(at: number): ReadBlock {
    const line = this.#getLine(at)
    if (isBlank(line)) return { content: undefined, end: at + 1 }
    if (getIndent(line) >= 4) return this.#readIndentedCode(at)
    const fence = readFence(line)
    if (fence) return this.#readFencedCode(at, fence)
    return this.#readHeading(at) ?? this.#readContainer(at) ?? this.#readFormula(at) ?? this.#readText(at)
  }

  /** Reads a line that is a block by itself: a heading or a rule. */
  #readHeading(at: number): ReadBlock | undefined {
    const heading = readHeading(this.#getLine(at))
    if (!heading) return isRule(this.#getLine(at)) ? { content: { type: 'rule' }, end: at + 1 } : undefined
    const content: Inline[] = []
    this.#complete(heading.text, content)
    return { content: { type: 'heading', level: heading.level, content }, end: at + 1 }
  }

  /** Reads a block that contains others. */
  #readContainer(at: number): ReadBlock | undefined {
    if (this.#depth >= MAX_BLOCK_DEPTH) return undefined
    if (isQuote(this.#getLine(at))) return this.#readQuote(at)
    return readListMark(this.#getLine(at)) && this.#readList(at)
  }

  #readText(at: number): ReadBlock {
    const definitionEnd = readDefinition(this.#lines, at, this.#context.references)
    if (definitionEnd !== undefined) return { content: undefined, end: definitionEnd }
    return this.#readTable(at) ?? this.#readParagraph(at)
  }

  #complete(text: string, content: Inline[]): void {
    this.completions.push(() => content.push(...parseInline(text, this.#context)))
  }

  #nest(lines: readonly string[]): BlockParser {
    return new BlockParser(lines, this.#context, this.#depth + 1, this.completions)
  }

  #readIndentedCode(at: number): ReadBlock {
    let end = at
    for (let next = at; next < this.#lines.length; next++) {
      const line = this.#getLine(next)
      if (isBlank(line)) continue
      if (getIndent(line) < 4) break
      end = next + 1
    }
    const text = this.#lines
      .slice(at, end)
      .map((line) => removeIndent(line, 4))
      .join('\n')
    return { content: { type: 'code', text, language: '' }, end }
  }

  #readFencedCode(at: number, fence: Fence): ReadBlock {
    let end = at + 1
    while (end < this.#lines.length && !isFenceEnd(this.#getLine(end), fence)) end++
    const lines = this.#lines.slice(at + 1, end).map((line) => removeIndent(line, fence.indent))
    if (end === this.#lines.length && lines.at(-1) === '') lines.pop()
    const text = lines.join('\n')
    const language = /^\w[\w+#-]*/.exec(fence.info)?.[0].toLowerCase() ?? ''
    const isFormula = language === 'math' && !isBlank(text)
    const content: BlockContent = isFormula ? this.#buildFormula(text.trim()) : { type: 'code', text, language }
    return { content, end: Math.min(end + 1, this.#lines.length) }
  }

  #readQuote(at: number): ReadBlock {
    const inner: string[] = []
    const fence = new FenceTracker()
    let end = at
    for (; end < this.#lines.length; end++) {
      const line = this.#getLine(end)
      this.#context.budget.takeSteps(line.length)
      // A paragraph in a quotation goes on in lines without the mark.
      if (!isQuote(line) && (fence.isOpen || !this.#continuesParagraph(inner.at(-1), line))) break
      const text = isQuote(line) ? removeQuoteMark(line) : line.trimStart()
      fence.follow(text)
      inner.push(text)
    }
    const blocks = this.#nest(inner).readAll()
    return { content: { type: 'quote', blocks, direction: findDirection(inner.join('\n')) }, end }
  }

  /** Returns true if a line goes on with the paragraph that the line before it may be a part of. */
  #continuesParagraph(before: string | undefined, line: string): boolean {
    if (before === undefined || isBlank(before) || isBlank(line)) return false
    const isText = !readHeading(before) && !isRule(before) && !readFence(before) && getIndent(before) < 4
    // A line behind the row of a table is no row, unless it looks like one.
    const endsTable = isRow(before) && !isRow(line)
    return isText && !endsTable && !this.#interrupts(line)
  }

  /** Returns true if a line ends the paragraph before it. */
  #interrupts(line: string): boolean {
    if (getIndent(line) > 3) return false
    if (readFence(line) || readHeading(line) || isRule(line)) return true
    if (this.#depth >= MAX_BLOCK_DEPTH) return false
    const mark = readListMark(line)
    return isQuote(line) || (mark !== undefined && !mark.isEmpty && (!mark.isOrdered || mark.number <= 1))
  }

  #readList(at: number): ReadBlock {
    const first = readListMark(this.#getLine(at))
    const items: { lines: string[]; hasBlankBehind: boolean }[] = []
    let end = at
    for (let mark = first; mark && mark.kind === first?.kind; mark = readListMark(this.#getLine(end))) {
      const item = collectItem(this.#lines, end, mark, this.#context.budget, (before, line) =>
        this.#continuesParagraph(before, line),
      )
      items.push(item)
      end = item.end
    }
    const last = items.at(-1)
    if (last) last.hasBlankBehind = false
    const parsed = items.map(({ lines }) => this.#readItem(lines))
    const isLoose = items.some(({ hasBlankBehind }) => hasBlankBehind) || parsed.some(({ isLoose: loose }) => loose)
    if (!isLoose) for (const { item } of parsed) markTight(item)
    const source = this.#lines
      .slice(at, end)
      .join('\n')
      .replace(/^[\s\d.)*+-]+/, '')
    const content: ListToken = {
      type: 'list',
      isOrdered: first?.isOrdered ?? false,
      start: first?.number ?? 1,
      items: parsed.map(({ item }) => item),
      direction: findDirection(source),
    }
    return { content, end }
  }

  /** Reads an item; it is loose if a blank line separates two of its blocks. */
  #readItem([first = '', ...others]: readonly string[]): { item: ListItem; isLoose: boolean } {
    this.#context.budget.takeElements(1)
    const task = /^\[([ xX])\](?= )/.exec(first)
    const lines = [task ? first.slice(4) : first, ...others]
    const parser = this.#nest(lines)
    const blocks: Block[] = []
    let isLoose = false
    for (let at = 0; at < lines.length; ) {
      const { block, end } = parser.readBlock(at)
      if (block) {
        isLoose ||= blocks.length > 0 && isBlank(lines[at - 1] ?? '')
        blocks.push(block)
      }
      at = end
    }
    return { item: { blocks, isDone: task ? task[1] !== ' ' : undefined }, isLoose }
  }

  #readFormula(at: number): ReadBlock | undefined {
    const found = this.#formulas.find(at)
    return found && { content: this.#buildFormula(found.tex), end: found.end }
  }

  #buildFormula(tex: string): MathsToken {
    this.#context.budget.takeFormula(tex)
    return this.#context.references.labels.add({ type: 'maths', tex, isDisplay: true })
  }

  #readTable(at: number): ReadBlock | undefined {
    const alignments = this.#readTableHead(at)
    if (!alignments) return undefined
    const rows: Inline[][][] = []
    let end = at + 2
    for (; end < this.#lines.length; end++) {
      const line = this.#getLine(end)
      if (isBlank(line) || getIndent(line) > 3 || this.#interrupts(line)) break
      rows.push(this.#readRow(line, alignments.length))
    }
    const header = this.#readRow(this.#getLine(at), alignments.length)
    const direction = findDirection(this.#lines.slice(at, end).join('\n'))
    return { content: { type: 'table', alignments, header, rows, direction }, end }
  }

  #readTableHead(at: number) {
    const line = this.#getLine(at)
    const alignments = line.includes('|') ? readAlignments(this.#getLine(at + 1)) : undefined
    return alignments && splitRow(line).length === alignments.length ? alignments : undefined
  }

  /** Reads a row with so many cells. */
  #readRow(line: string, columns: number): Inline[][] {
    this.#context.budget.takeSteps(line.length)
    this.#context.budget.takeElements(columns)
    const cells = splitRow(line)
    return Array.from({ length: columns }, (_, index) => {
      const content: Inline[] = []
      this.#complete(cells[index] ?? '', content)
      return content
    })
  }

  #readParagraph(at: number): ReadBlock {
    const lines = [this.#getLine(at).trimStart()]
    const content: Inline[] = []
    let end = at + 1
    for (; end < this.#lines.length; end++) {
      const line = this.#getLine(end)
      this.#context.budget.takeSteps(line.length)
      const level = readUnderline(line)
      if (level) {
        this.#complete(lines.join('\n').trim(), content)
        return { content: { type: 'heading', level, content }, end: end + 1 }
      }
      if (isBlank(line) || this.#interrupts(line) || this.#readTableHead(end) || this.#formulas.find(end)) break
      lines.push(line.trimStart())
    }
    this.#complete(lines.join('\n').trim(), content)
    return { content: { type: 'paragraph', content, isTight: false }, end }
  }
}

/** Shows the paragraphs of an item without distance. */
function markTight({ blocks }: ListItem): void {
  for (const block of blocks) if (block.type === 'paragraph') block.isTight = true
}
