import {
  createContext,
  Fragment,
  type MouseEvent,
  memo,
  type ReactElement,
  type ReactNode,
  useContext,
  useId,
  useRef,
} from 'react'
import { t } from '../text/labels.ts'
import { CopyButton } from '../ui/copy-button.tsx'
import { SourceBoundary } from '../ui/source-boundary.tsx'
import { CitationsProvider, TextWithCitations } from './citations.tsx'
import { CodeBlock } from './code-block.tsx'
import { DataPicture } from './data-picture.tsx'
import { Entity } from './entity.tsx'
import { Formula } from './formula.tsx'
import { Link } from './link.tsx'
import { WithoutMentions } from './mentions.tsx'
import { IncrementalMarkdown } from './parser.ts'
import { getHost, isDataImage } from './safe-link.ts'
import { repairMarkdown } from './streaming.ts'
import type { Block, Inline, InlineElement, ListToken, NotesToken, TableToken } from './tokens.ts'
import './markdown.css'

interface MarkdownProps {
  text: string
  isStreaming?: boolean
  /** True for texts of people, whose line breaks are kept. */
  hasLineBreaks?: boolean
}

/**
 * Renders Markdown as React elements. Nothing of the text becomes HTML, and a text that cannot be rendered is shown as
 * it was written.
 */
export const Markdown = memo((props: MarkdownProps) => (
  <SourceBoundary source={props.text}>
    <Blocks {...props} />
  </SourceBoundary>
))

function Blocks({ text, isStreaming = false, hasLineBreaks = false }: MarkdownProps) {
  const parser = useRef<IncrementalMarkdown>(null)
  const id = useId()
  parser.current ??= new IncrementalMarkdown({ hasLineBreaks })
  const blocks = parser.current.parse(isStreaming ? repairMarkdown(text) : text)
  const sections: Block[][] = []
  for (let at = 0; at < blocks.length; at += SECTION_SIZE) sections.push(blocks.slice(at, at + SECTION_SIZE))
  return (
    <TextId value={id}>
      <div className="markdown">
        {sections.map((section, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: sections keep their positions while a text grows.
          <Section key={index} blocks={section} />
        ))}
      </div>
    </TextId>
  )
}

/** Blocks per memoized section, so that a long answer is not rendered again for each new word. */
const SECTION_SIZE = 20

const Section = memo(
  ({ blocks }: { blocks: readonly Block[] }) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: blocks keep their positions while a text grows.
    blocks.map((block, index) => <MemoBlock key={index} block={block} />),
  (before, after) =>
    before.blocks.length === after.blocks.length && before.blocks.every((block, at) => block === after.blocks[at]),
)

/** Renders a block of the text again only when its source has changed. */
const MemoBlock = memo(
  ({ block }: { block: Block }) => renderBlock(block),
  (before, after) => before.block.source === after.block.source && before.block.type === after.block.type,
)

function renderBlock(block: Block): ReactNode {
  switch (block.type) {
    case 'heading':
      return <Heading level={block.level} content={block.content} />
    case 'paragraph':
      return block.isTight ? renderInline(block.content) : <p dir="auto">{renderInline(block.content)}</p>
    case 'code':
      return <CodeBlock code={block.text} language={block.language} />
    case 'quote':
      return (
        <blockquote dir={block.direction}>
          <WithoutMentions>{renderBlocks(block.blocks)}</WithoutMentions>
        </blockquote>
      )
    case 'list':
      return <List {...block} />
    case 'table':
      return <Table {...block} />
    case 'rule':
      return <hr />
    case 'maths':
      return <Formula tex={block.tex} isBlock />
    case 'notes':
      return <Notes notes={block.notes} />
    case 'plain':
      return (
        <p className="plain-text" dir="auto">
          {block.text}
        </p>
      )
  }
}

const renderBlocks = (blocks: readonly Block[]): ReactNode =>
  // biome-ignore lint/suspicious/noArrayIndexKey: blocks keep their positions while a text grows.
  blocks.map((block, index) => <Fragment key={index}>{renderBlock(block)}</Fragment>)

/** Lowers the level of headings, as each message has a heading with its author above them. */
function Heading({ level, content }: { level: number; content: readonly Inline[] }) {
  const Tag = `h${Math.min(Math.max(level + 1, 3), 6)}` as 'h3' | 'h4' | 'h5' | 'h6'
  return (
    <Tag dir="auto" className={`level-${level}`}>
      {renderInline(content)}
    </Tag>
  )
}

function List({ isOrdered, start, items, direction }: ListToken) {
  const content = items.map(({ blocks, isDone }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: items keep their positions while a text grows.
    <li key={index} className={isDone === undefined ? undefined : 'task'}>
      {isDone !== undefined && <input type="checkbox" disabled checked={isDone} aria-label={t('app.markdown.task')} />}
      {renderBlocks(blocks)}
    </li>
  ))
  return isOrdered ? (
    <ol start={start} dir={direction}>
      {content}
    </ol>
  ) : (
    <ul dir={direction}>{content}</ul>
  )
}

/** The id of the text, by which its footnotes differ from those of other texts on the page. */
const TextId = createContext('')

const Notes = ({ notes }: { notes: NotesToken['notes'] }) => {
  const id = useContext(TextId)
  return (
    <ol>
      {notes.map(({ number, blocks }) => (
        <li key={number} value={number} id={`${id}${number}`} tabIndex={-1}>
          {renderBlocks(blocks)}
        </li>
      ))}
    </ol>
  )
}

/** The mark of a footnote, which leads to it. The address of the page stays as it is. */
function NoteMark({ number, text }: { number: number; text: string }) {
  const target = `${useContext(TextId)}${number}`
  const showNote = (event: MouseEvent) => {
    event.preventDefault()
    document.getElementById(target)?.focus()
  }
  return (
    <sup>
      <a href={`#${target}`} title={text} aria-label={t('app.markdown.note', { number })} onClick={showNote}>
        {number}
      </a>
    </sup>
  )
}

/** A table with a button that copies it for a spreadsheet. */
const Table = (table: TableToken) => (
  <div className="table-frame">
    <TableContent {...table} />
    <CopyButton text={() => copyAsCsv(table)} label={t('app.markdown.copyTable')} />
  </div>
)

async function copyAsCsv(table: TableToken): Promise<string> {
  const { writeTableAsCsv } = await import('./table-csv.ts')
  return writeTableAsCsv(table)
}

const TableContent = ({ header, alignments, rows, direction }: TableToken) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard.
  <figure className="table" tabIndex={0} aria-label={t('app.markdown.table')} dir={direction}>
    <table>
      <thead>
        <tr>
          {header.map((cell, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: cells have no identity but their position.
            <th key={index} dir="auto" className={alignments[index] ?? direction}>
              {renderInline(cell)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity but their position.
          <tr key={index}>
            {row.map((cell, column) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: cells have no identity but their position.
              <td key={column} dir="auto" className={alignments[column] ?? direction}>
                {renderInline(cell)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </figure>
)

/**
 * Renders the parts of a line. Plain text gets no element of its own, as each element costs time whenever the answer
 * grows.
 */
const renderInline = (content: readonly Inline[]): ReactNode =>
  content.map((part, index) => {
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a line keep their positions while a text grows.
    if (typeof part === 'string') return /[@[]/.test(part) ? <TextWithCitations key={index} text={part} /> : part
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a line keep their positions while a text grows.
    return <Fragment key={index}>{renderElement(part)}</Fragment>
  })

function renderElement(element: InlineElement): ReactElement | string {
  switch (element.type) {
    case 'code':
      return <code>{element.text}</code>
    case 'break':
      return <br />
    case 'link':
      return (
        <Link href={element.href} words={element.words}>
          <CitationsProvider value={undefined}>
            <WithoutMentions>{renderInline(element.content)}</WithoutMentions>
          </CitationsProvider>
        </Link>
      )
    case 'image':
      return <Picture {...element} />
    case 'maths':
      return <Formula tex={element.tex} isBlock={element.isDisplay} />
    case 'entity':
      return <Entity name={element.name} />
    case 'note':
      return <NoteMark number={element.number} text={element.text} />
    case 'reference':
      return element.text
    default:
      return <element.type>{renderInline(element.content)}</element.type>
  }
}

/** Shows a picture of another host as a link, because loading it could send parts of the conversation there. */
function Picture({ href, text }: { href: string; text: string }) {
  if (isDataImage(href)) return <DataPicture href={href} text={text} />
  const words = t('app.markdown.picture', { name: text || getHost(href) })
  return (
    <Link href={href} words={words}>
      {words} <span className="host">({getHost(href)})</span>
    </Link>
  )
}
