import { type OfficeContentNode, type OfficeParserAST, parseOffice } from 'officeparser'
import { type Collector, Unreadable } from './collector.ts'
import type { TextKind } from './content-kinds.ts'
import { spellOut } from './docx.ts'
import { decode } from './plain.ts'
import { spellOutDates } from './xlsx.ts'
import { embedding, guardZip } from './zip-guard.ts'

type OfficeKind = Exclude<TextKind, 'pdf' | 'plain'>

/** Word documents, workbooks, presentations, OpenDocument, RTF and HTML; nothing that they refer to is fetched. */
export async function readOffice(bytes: Buffer, fileType: OfficeKind, text: Collector): Promise<void> {
  const document = await prepare(bytes, fileType, text)
  addDocument(await parseOffice(document, { fileType, ignorePageGeometry: true }).catch(refuseDocument), text)
}

async function prepare(bytes: Buffer, fileType: OfficeKind, text: Collector): Promise<Buffer> {
  if (fileType === 'html') return Buffer.from(await decode(bytes))
  if (fileType === 'rtf') assertStart(bytes, '{\\rtf')
  else await guardContainer(bytes, text)
  if (fileType === 'xlsx') return spellOutDates(bytes)
  return fileType === 'docx' ? spellOut(bytes, text) : bytes
}

function assertStart(bytes: Buffer, start: string): void {
  if (!bytes.toString('latin1', 0, start.length).startsWith(start)) throw new Unreadable('damaged')
}

/** Refuses what no parser of documents is given: the container of documents with a password is no archive. */
export async function guardContainer(bytes: Buffer, text: Collector): Promise<void> {
  if (bytes.toString('latin1', 0, 4) === '\xd0\xcf\x11\xe0') throw new Unreadable('encrypted')
  const names = await guardZip(bytes)
  // A drawing is kept beside the picture of it that programs show which know no drawings.
  text.note('pictures', count(names, /(?:^|\/)(?:media|Pictures)\/[^/]+\.(?!svg|wav|mp3|m4a|mp4|mov)\w+$/i))
  // The numbers of a chart are read from the chart, not from its workbook.
  text.note('embedded-files', count(names, embedding, /[^/]$/) - count(names, /\/charts?\/?chart\d*\.xml$/))
}

const count = (names: ReadonlySet<string>, ...patterns: RegExp[]): number =>
  [...names].filter((name) => patterns.every((pattern) => pattern.test(name))).length

/** Throws the reason why a parser failed. */
export function refuseDocument(error: Error & { code?: unknown }): never {
  throw new Unreadable(/PASSWORD/.test(`${error.code}`) ? 'encrypted' : 'damaged', error)
}

type Node = OfficeContentNode
type Metadata<Name extends Node['type']> = Extract<Node, { type: Name }>['metadata']

/** The text of a document: what stands in its headers, its blocks, its notes, and what stands in its footers. */
export function addDocument({ content, auxiliary, warnings }: OfficeParserAST, text: Collector): void {
  const writer = new DocumentWriter(content.filter(({ type }) => type === 'sheet').length > 1)
  addOnce(auxiliary?.headers, writer, text)
  for (const node of content) {
    if (text.isFull) break
    text.add(writer.block(node))
  }
  text.add(writer.notes())
  addOnce(auxiliary?.footers, writer, text)
  for (const { code } of warnings ?? []) {
    const gap = gaps[code]
    if (gap) text.note(gap)
  }
}

/** Warnings of the parser that say that text is missing. */
const gaps: Readonly<Record<string, 'parts' | 'cells' | undefined>> = {
  ALT_CHUNK_NOT_READ: 'parts',
  CONTENT_PART_NOT_READ: 'parts',
  CHART_DATA_EXTRACTION_FAILED: 'parts',
  TABLE_CELL_LIMIT_EXCEEDED: 'cells',
  REPEATED_CONTENT_LIMIT_EXCEEDED: 'cells',
}

/** First pages and even pages mostly have the headers of the others. */
function addOnce(nodes: readonly Node[] = [], writer: DocumentWriter, text: Collector): void {
  const texts = new Set(nodes.map((node) => writer.block(node).trim()))
  for (const part of texts) if (part) text.add(`${part}\n\n`)
}

class DocumentWriter {
  readonly #namesSheets: boolean
  readonly #notes: Node[] = []

  constructor(namesSheets: boolean) {
    this.#namesSheets = namesSheets
  }

  /** What a node stands for, ending with a line break. */
  block(node: Node): string {
    const text = this.#text(node)
    return text === '' || text.endsWith('\n') ? text : `${text}\n`
  }

  /** The notes that were referred to so far, and those that these refer to. */
  notes(): string {
    let written = ''
    for (let at = 0; at < this.#notes.length; at++) {
      const note = this.#notes[at]
      if (note) written += `[^${at + 1}]: ${this.#inline(note.children ?? []).trim() || (note.text ?? '')}\n`
    }
    return written && `\n${written}\n`
  }

  #text(node: Node): string {
    switch (node.type) {
      case 'text':
        return `${node.text ?? ''}${this.#references(node)}`
      case 'break':
        return '\n'
      case 'code':
        return `${(node.metadata as Metadata<'code'>)?.math ? writeFormula(node) : this.#content(node)}${this.#references(node)}`
      case 'comment':
        return ''
      case 'image':
        return writePicture(node)
      case 'list':
        return `${writeMarker(node.metadata as Metadata<'list'>)}${this.#content(node)}${this.#references(node)}\n`
      case 'table':
        return `\n${(node.children ?? []).map((row) => this.#row(row, '| ', ' | ', ' |')).join('')}\n`
      case 'sheet':
        return `${this.#namesSheets ? `${(node.metadata as Metadata<'sheet'>)?.sheetName ?? ''}:\n` : ''}${(node.children ?? []).map((row) => this.#row(row, '', '\t', '')).join('')}${this.#references(node)}\n`
      case 'slide':
        return `${this.#content(node)}${this.#slideNotes(node)}\n`
      default:
        return `${this.#content(node)}${this.#references(node)}`
    }
  }

  /** The blocks or runs in a node. A link is written behind the runs that it is given to. */
  #content({ children = [], text = '' }: Node): string {
    if (children.length === 0) return text
    return children
      .map((child, at) => {
        const link = writeLink(child)
        const written = isBlock(child) ? this.block(child) : this.#text(child)
        return link && link !== writeLink(children[at + 1]) && !text.includes(link) ? `${written} (${link})` : written
      })
      .reduce((all, part, at) => `${all}${isBlock(children[at]) && all && !all.endsWith('\n') ? '\n' : ''}${part}`, '')
  }

  #row(row: Node, begin: string, separator: string, end: string): string {
    if (row.type !== 'row') return this.block(row)
    const cells: string[] = []
    for (const cell of row.children ?? []) {
      // A cell that reaches over several rows or columns leaves the places of others empty.
      const { col = cells.length } = (cell.metadata ?? {}) as Partial<NonNullable<Metadata<'cell'>>>
      while (cells.length < Math.min(col, MAX_COLUMNS)) cells.push('')
      cells.push(this.#inline([cell]))
    }
    return `${begin}${cells.join(separator)}${end}\n`
  }

  /** In one line, as a cell or a note is written. */
  #inline(nodes: readonly Node[]): string {
    return nodes
      .map((node) => this.block(node))
      .join('')
      .trim()
      .replace(/\s*\n\s*/g, ' ')
  }

  /** Marks of the notes that a node refers to, and the comments on it. */
  #references({ notes = [], comments = [] }: Node): string {
    const marks = notes.map((note) => `[^${this.#numberNote(note)}]`)
    return [...marks, ...comments.map((comment) => ` ${this.#comment(comment)}`)].join('')
  }

  #numberNote(note: Node): number {
    const known = this.#notes.indexOf(note)
    return known >= 0 ? known + 1 : this.#notes.push(note)
  }

  #comment({ text = '', children = [], metadata }: Node): string {
    const { author } = (metadata ?? {}) as Partial<NonNullable<Metadata<'comment'>>>
    return `[Comment${author ? ` by ${author}` : ''}: ${this.#inline(children) || text}]`
  }

  #slideNotes({ notes = [], comments = [] }: Node): string {
    const spoken = notes.map((note) => `Notes: ${this.#inline(note.children ?? []) || (note.text ?? '')}\n`)
    return [...spoken, ...comments.map((comment) => `${this.#comment(comment)}\n`)].join('')
  }
}

const MAX_COLUMNS = 16_384

const blocks: ReadonlySet<Node['type']> = new Set([
  ...(['paragraph', 'heading', 'table', 'list', 'slide', 'sheet', 'row', 'page', 'note', 'header', 'footer'] as const),
  ...(['admonition', 'definitionList', 'definitionTerm', 'definitionDescription', 'slideMaster', 'chart'] as const),
])

const isBlock = (node: Node | undefined): boolean => node !== undefined && blocks.has(node.type)

/** Links into the document itself say nothing. */
function writeLink(node: Node | undefined): string | undefined {
  if (node?.type !== 'text') return undefined
  const { link, linkType } = (node.metadata ?? {}) as Partial<NonNullable<Metadata<'text'>>>
  return linkType === 'external' ? link : undefined
}

/** The parser forgets the space between a command and a letter. */
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
