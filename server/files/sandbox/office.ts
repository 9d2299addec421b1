import { type OfficeContentNode, type OfficeParserAST, parseOffice } from 'officeparser'
import type { TextKind } from './content-kinds.ts'
import { insertImplicitText } from './docx.ts'
import { decodeText } from './plain.ts'
import { type TextCollector, UnreadableError } from './text-collector.ts'
import { writeDatesAsText } from './xlsx.ts'
import { embeddedDocument, inspectZip } from './zip-guard.ts'

type OfficeKind = Exclude<TextKind, 'pdf' | 'markdown' | 'plain'>

/** Reads Word documents, workbooks, presentations, OpenDocument, RTF and HTML. External references are not fetched. */
export async function readOffice(bytes: Buffer, fileType: OfficeKind, text: TextCollector): Promise<void> {
  const document = await prepareDocument(bytes, fileType, text)
  addDocument(await parseOffice(document, { fileType, ignorePageGeometry: true }).catch(throwUnreadable), text)
}

async function prepareDocument(bytes: Buffer, fileType: OfficeKind, text: TextCollector): Promise<Buffer> {
  if (fileType === 'html') return Buffer.from(await decodeText(bytes))
  if (fileType === 'rtf') assertStart(bytes, '{\\rtf')
  else await assertSafeContainer(bytes, text)
  if (fileType === 'xlsx') return writeDatesAsText(bytes)
  return fileType === 'docx' ? insertImplicitText(bytes, text) : bytes
}

function assertStart(bytes: Buffer, start: string): void {
  if (!bytes.toString('latin1', 0, start.length).startsWith(start)) throw new UnreadableError('damaged')
}

/** Checks an archive before a parser opens it. Encrypted Office documents are OLE containers instead of archives. */
async function assertSafeContainer(bytes: Buffer, text: TextCollector): Promise<void> {
  if (bytes.toString('latin1', 0, 4) === '\xd0\xcf\x11\xe0') throw new UnreadableError('encrypted')
  const names = await inspectZip(bytes)
  // A vector drawing is stored beside a raster copy for programs that cannot show it, so only the copy is counted.
  text.reportGap('pictures', countNames(names, /(?:^|\/)(?:media|Pictures)\/[^/]+\.(?!svg|wav|mp3|m4a|mp4|mov)\w+$/i))
  // The numbers of a chart are read from the chart, not from its workbook.
  text.reportGap(
    'embedded-files',
    countNames(names, embeddedDocument, /[^/]$/) - countNames(names, /\/charts?\/?chart\d*\.xml$/),
  )
}

const countNames = (names: ReadonlySet<string>, ...patterns: RegExp[]): number =>
  [...names].filter((name) => patterns.every((pattern) => pattern.test(name))).length

/** Throws the reason why a parser failed. */
function throwUnreadable(error: Error & { code?: unknown }): never {
  throw new UnreadableError(/PASSWORD/.test(`${error.code}`) ? 'encrypted' : 'damaged', error)
}

type Node = OfficeContentNode
type Metadata<Name extends Node['type']> = Extract<Node, { type: Name }>['metadata']

/** Adds the headers, blocks, notes and footers of a document. */
function addDocument({ content, auxiliary, warnings }: OfficeParserAST, text: TextCollector): void {
  const writer = new DocumentWriter(content.filter(({ type }) => type === 'sheet').length > 1)
  addOnce(auxiliary?.headers, writer, text)
  for (const node of content) {
    if (text.isFull) break
    addBlock(node, writer, text)
  }
  text.add(writer.writeNotes())
  addOnce(auxiliary?.footers, writer, text)
  for (const { code } of warnings ?? []) {
    const gap = gapsByWarning[code]
    if (gap) text.reportGap(gap)
  }
}

/** Adds a block with its places: a heading, a slide, a table, or a sheet, which is a table below its name. */
function addBlock(node: Node, writer: DocumentWriter, text: TextCollector): void {
  const written = writer.writeBlock(node)
  if (node.type === 'heading') text.mark('heading', (node.metadata as Metadata<'heading'>)?.level ?? 1)
  if (node.type === 'slide') text.mark('page', (node.metadata as Metadata<'slide'>)?.slideNumber ?? 1)
  if (node.type === 'table' || node.type === 'sheet') addTable(written, writer.countNameLength(node, written), text)
  else text.add(written)
}

/** Adds a table behind its name, which is a heading. */
function addTable(written: string, nameLength: number, text: TextCollector): void {
  if (nameLength > 0) text.mark('heading', 1)
  text.add(written.slice(0, nameLength))
  text.mark('table')
  text.add(written.slice(nameLength))
  text.mark('table-end')
}

/** Parser warnings that mean that text is missing. */
const gapsByWarning: Readonly<Record<string, 'parts' | 'cells' | undefined>> = {
  ALT_CHUNK_NOT_READ: 'parts',
  CONTENT_PART_NOT_READ: 'parts',
  CHART_DATA_EXTRACTION_FAILED: 'parts',
  TABLE_CELL_LIMIT_EXCEEDED: 'cells',
  REPEATED_CONTENT_LIMIT_EXCEEDED: 'cells',
}

/** Headers of first and even pages are often the same as the others. */
function addOnce(nodes: readonly Node[] = [], writer: DocumentWriter, text: TextCollector): void {
  const texts = new Set(nodes.map((node) => writer.writeBlock(node).trim()))
  for (const part of texts) if (part) text.add(`${part}\n\n`)
}

class DocumentWriter {
  readonly #showsSheetNames: boolean
  readonly #notes: Node[] = []

  constructor(showsSheetNames: boolean) {
    this.#showsSheetNames = showsSheetNames
  }

  /** Writes a node, ending with a line break. */
  writeBlock(node: Node): string {
    const text = this.#writeNode(node)
    return text === '' || text.endsWith('\n') ? text : `${text}\n`
  }

  /** Returns the length of the line with the name of a sheet; 0 if it was written without one. */
  countNameLength({ type }: Node, written: string): number {
    return type === 'sheet' && this.#showsSheetNames ? written.indexOf('\n') + 1 : 0
  }

  /** Writes all notes that were referenced so far, and those that they reference. */
  writeNotes(): string {
    let written = ''
    for (let at = 0; at < this.#notes.length; at++) {
      const note = this.#notes[at]
      if (note) written += `[^${at + 1}]: ${this.#writeInline(note.children ?? []).trim() || (note.text ?? '')}\n`
    }
    return written && `\n${written}\n`
  }

  #writeNode(node: Node): string {
    switch (node.type) {
      case 'text':
        return `${node.text ?? ''}${this.#writeReferences(node)}`
      case 'break':
        return '\n'
      case 'code':
        return `${(node.metadata as Metadata<'code'>)?.math ? writeFormula(node) : this.#writeChildren(node)}${this.#writeReferences(node)}`
      case 'comment':
        return ''
      case 'image':
        return writePicture(node)
      case 'list':
        return `${writeMarker(node.metadata as Metadata<'list'>)}${this.#writeChildren(node)}${this.#writeReferences(node)}\n`
      case 'table':
        return `\n${(node.children ?? []).map((row) => this.#writeRow(row, '| ', ' | ', ' |')).join('')}\n`
      case 'sheet':
        return `${this.#showsSheetNames ? `${(node.metadata as Metadata<'sheet'>)?.sheetName ?? ''}:\n` : ''}${(node.children ?? []).map((row) => this.#writeRow(row, '', '\t', '')).join('')}${this.#writeReferences(node)}\n`
      case 'slide':
        return `${this.#writeChildren(node)}${this.#writeSlideNotes(node)}\n`
      default:
        return `${this.#writeChildren(node)}${this.#writeReferences(node)}`
    }
  }

  /** Writes the blocks or runs of a node. A link follows the last run that has it. */
  #writeChildren({ children = [], text = '' }: Node): string {
    if (children.length === 0) return text
    return children
      .map((child, at) => {
        const link = writeLink(child)
        const written = isBlock(child) ? this.writeBlock(child) : this.#writeNode(child)
        return link && link !== writeLink(children[at + 1]) && !text.includes(link) ? `${written} (${link})` : written
      })
      .reduce((all, part, at) => `${all}${isBlock(children[at]) && all && !all.endsWith('\n') ? '\n' : ''}${part}`, '')
  }

  #writeRow(row: Node, begin: string, separator: string, end: string): string {
    if (row.type !== 'row') return this.writeBlock(row)
    const cells: string[] = []
    for (const cell of row.children ?? []) {
      // A merged cell leaves the positions of other cells empty.
      const { col = cells.length } = (cell.metadata ?? {}) as Partial<NonNullable<Metadata<'cell'>>>
      while (cells.length < Math.min(col, MAX_COLUMNS)) cells.push('')
      cells.push(this.#writeInline([cell]))
    }
    return `${begin}${cells.join(separator)}${end}\n`
  }

  /** Writes nodes on one line, as for a cell or a note. */
  #writeInline(nodes: readonly Node[]): string {
    return nodes
      .map((node) => this.writeBlock(node))
      .join('')
      .trim()
      .replace(/\s*\n\s*/g, ' ')
  }

  /** Writes the marks of a node's notes, and its comments. */
  #writeReferences({ notes = [], comments = [] }: Node): string {
    const marks = notes.map((note) => `[^${this.#numberNote(note)}]`)
    return [...marks, ...comments.map((comment) => ` ${this.#writeComment(comment)}`)].join('')
  }

  #numberNote(note: Node): number {
    const known = this.#notes.indexOf(note)
    return known >= 0 ? known + 1 : this.#notes.push(note)
  }

  #writeComment({ text = '', children = [], metadata }: Node): string {
    const { author } = (metadata ?? {}) as Partial<NonNullable<Metadata<'comment'>>>
    return `[Comment${author ? ` by ${author}` : ''}: ${this.#writeInline(children) || text}]`
  }

  #writeSlideNotes({ notes = [], comments = [] }: Node): string {
    const spoken = notes.map((note) => `Notes: ${this.#writeInline(note.children ?? []) || (note.text ?? '')}\n`)
    return [...spoken, ...comments.map((comment) => `${this.#writeComment(comment)}\n`)].join('')
  }
}

const MAX_COLUMNS = 16_384

const blocks: ReadonlySet<Node['type']> = new Set<Node['type']>([
  'paragraph',
  'heading',
  'table',
  'list',
  'slide',
  'sheet',
  'row',
  'page',
  'note',
  'header',
  'footer',
  'admonition',
  'definitionList',
  'definitionTerm',
  'definitionDescription',
  'slideMaster',
  'chart',
])

const isBlock = (node: Node | undefined): boolean => node !== undefined && blocks.has(node.type)

/** Links within the document are left out. */
function writeLink(node: Node | undefined): string | undefined {
  if (node?.type !== 'text') return undefined
  const { link, linkType } = (node.metadata ?? {}) as Partial<NonNullable<Metadata<'text'>>>
  return linkType === 'external' ? link : undefined
}

/** The parser drops the space between a command and a letter. */
const writeFormula = ({ text = '' }: Node) => `$${text.replace(/\\(frac|sqrt)(?=[A-Za-z])/g, '\\$1 ')}$`

function writeMarker(list: Metadata<'list'>): string {
  const { listType, itemIndex = 0, indentation = 0, isTask, checked } = list ?? {}
  const box = isTask ? `[${checked ? 'x' : ' '}] ` : ''
  return `${'  '.repeat(Math.min(indentation, 20))}${listType === 'ordered' ? `${itemIndex + 1}.` : '-'} ${box}`
}

function writePicture({ metadata, text }: Node): string {
  const { altText } = (metadata ?? {}) as Partial<NonNullable<Metadata<'image'>>>
  return altText || text ? `[Picture: ${altText || text}]` : ''
}
