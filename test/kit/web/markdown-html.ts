import { findNamedCharacter } from '../../../facades/web/app/shared/markdown/entities.ts'
import type {
  Alignment,
  Block,
  Inline,
  InlineElement,
  ListItem,
} from '../../../facades/web/app/shared/markdown/tokens.ts'

/** Writes blocks as HTML in the form of markdown-it, for a comparison. */
export const writeHtml = (blocks: readonly Block[]): string => blocks.map(writeBlock).join('')

function writeBlock(block: Block): string {
  switch (block.type) {
    case 'heading':
      return wrap(`h${block.level}`, writeLine(block.content))
    case 'paragraph':
      return block.isTight ? writeLine(block.content) : wrap('p', writeLine(block.content))
    case 'code':
      return `<pre><code${block.language && ` class="language-${block.language}"`}>${escapeHtml(block.text && `${block.text}\n`)}</code></pre>`
    case 'quote':
      return wrap('blockquote', writeHtml(block.blocks))
    case 'list': {
      const [name, start] = block.isOrdered ? ['ol', block.start] : ['ul', 1]
      return wrap(name, block.items.map(writeItem).join(''), start === 1 ? '' : ` start="${start}"`)
    }
    case 'table': {
      const rows = block.rows.map((row) => writeRow('td', row, block.alignments)).join('')
      return wrap(
        'table',
        wrap('thead', writeRow('th', block.header, block.alignments)) + (rows && wrap('tbody', rows)),
      )
    }
    case 'rule':
      return '<hr>'
    default:
      return wrap(block.type, escapeHtml(block.source))
  }
}

const wrap = (name: string, content: string, attributes = '') => `<${name}${attributes}>${content}</${name}>`

/** Markdown-it shows the box of a task as text. */
const writeItem = ({ blocks, isDone }: ListItem): string =>
  wrap('li', `${isDone === undefined ? '' : `[${isDone ? 'x' : ' '}] `}${writeHtml(blocks)}`)

const writeRow = (name: string, cells: readonly Inline[][], alignments: readonly Alignment[]): string =>
  wrap('tr', cells.map((cell, at) => wrap(name, writeLine(cell), writeAlignment(alignments[at]))).join(''))

const writeAlignment = (alignment: Alignment) => (alignment ? ` style="text-align:${alignment}"` : '')

const writeLine = (content: readonly Inline[]): string =>
  content.map((part) => (typeof part === 'string' ? escapeHtml(part) : writeElement(part))).join('')

function writeElement(element: InlineElement): string {
  switch (element.type) {
    case 'code':
      return wrap('code', escapeHtml(element.text))
    case 'break':
      return '<br>\n'
    case 'link':
      return wrap('a', writeLine(element.content), ` href="${escapeHtml(element.href)}"`)
    case 'entity':
      return escapeHtml(findNamedCharacter(element.name) ?? `&${element.name};`)
    case 'del':
      return wrap('s', writeLine(element.content))
    default:
      return wrap(element.type, 'content' in element ? writeLine(element.content) : JSON.stringify(element))
  }
}

const escapeHtml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

const blockNames = 'p|h\\d|ul|ol|li|table|thead|tbody|tr|td|th|blockquote|pre|hr'

/** Removes what the two may write in different ways: titles of links, blanks around blocks, the box of a task. */
export const normalizeHtml = (html: string): string =>
  html
    .replace(/ title="[^"]*"/g, '')
    .replace(new RegExp(`(</?(?:${blockNames})(?: [^>]*)?>)\\s+`, 'g'), '$1')
    .replace(new RegExp(`\\s+(</?(?:${blockNames})(?: [^>]*)?>)`, 'g'), '$1')
    .replace(/<p>(\[[ x]\] )/g, '$1<p>')
    .trim()
