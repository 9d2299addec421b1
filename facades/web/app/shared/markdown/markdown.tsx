import type { MarkedToken, Token, Tokens } from 'marked'
import { Fragment, memo, type ReactElement, type ReactNode, useLayoutEffect, useRef, useState } from 'react'
import { t } from '../text/labels.ts'
import { CodeBlock } from './code-block.tsx'
import { getHost, isDataImage, Link } from './link.tsx'
import { decodeEntities, IncrementalMarkdown, isMaths, repairMarkdown } from './parser.ts'
import './markdown.css'

interface MarkdownProps {
  text: string
  isStreaming?: boolean
  /** True for texts of people, whose line breaks are kept. */
  hasLineBreaks?: boolean
}

/** Renders Markdown as React elements. Nothing of the text becomes HTML: unknown tokens are shown as text. */
export const Markdown = memo(({ text, isStreaming = false, hasLineBreaks = false }: MarkdownProps) => {
  const parser = useRef<IncrementalMarkdown>(null)
  parser.current ??= new IncrementalMarkdown({ hasLineBreaks })
  const blocks = parser.current.parse(isStreaming ? repairMarkdown(text) : text)
  const sections: Token[][] = []
  for (let at = 0; at < blocks.length; at += SECTION_SIZE) sections.push(blocks.slice(at, at + SECTION_SIZE))
  return (
    <div className="markdown">
      {sections.map((tokens, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: sections keep their positions while a text grows.
        <Section key={index} tokens={tokens} />
      ))}
    </div>
  )
})

/** Blocks per memoized section, so that a long answer is not rendered again for each new word. */
const SECTION_SIZE = 20

const Section = memo(
  ({ tokens }: { tokens: readonly Token[] }) => renderBlocks(tokens),
  (before, after) =>
    before.tokens.length === after.tokens.length && before.tokens.every((token, at) => token === after.tokens[at]),
)

/** Renders a block again only when its source has changed. */
const Block = memo(
  ({ token }: { token: Token }) => renderBlock(token),
  (before, after) => before.token.raw === after.token.raw,
)

function renderBlock(token: Token): ReactNode {
  if (isMaths(token)) return <Formula tex={token.text} isBlock />
  const known = token as MarkedToken
  switch (known.type) {
    case 'heading':
      return <Heading {...known} />
    case 'paragraph':
      return <p dir="auto">{renderInline(known.tokens)}</p>
    case 'code':
      return <CodeBlock code={known.text} language={/^\w[\w+#-]*/.exec(known.lang ?? '')?.[0].toLowerCase() ?? ''} />
    case 'blockquote':
      return <blockquote dir="auto">{renderBlocks(known.tokens)}</blockquote>
    case 'list':
      return <List {...known} />
    case 'table':
      return <Table {...known} />
    case 'hr':
      return <hr />
    case 'text':
      return renderInline(known.tokens ?? [known])
    default:
      return <p dir="auto">{token.raw}</p>
  }
}

const renderBlocks = (tokens: readonly Token[]): ReactNode =>
  // biome-ignore lint/suspicious/noArrayIndexKey: blocks keep their positions while a text grows.
  tokens.map((token, index) => <Block key={index} token={token} />)

/** Lowers the level of headings, as each message has a heading with its author above them. */
function Heading({ depth, tokens }: Tokens.Heading) {
  const Tag = `h${Math.min(Math.max(depth + 1, 3), 6)}` as 'h3' | 'h4' | 'h5' | 'h6'
  return (
    <Tag dir="auto" className={`level-${depth}`}>
      {renderInline(tokens)}
    </Tag>
  )
}

function List({ ordered, start, items }: Tokens.List) {
  const content = items.map((item, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: items keep their positions while a text grows.
    <li key={index} dir="auto" className={item.task ? 'task' : undefined}>
      {item.task && (
        <input type="checkbox" disabled checked={item.checked ?? false} aria-label={t('app.markdown.task')} />
      )}
      {renderBlocks(item.tokens.filter(({ type }) => type !== 'checkbox'))}
    </li>
  ))
  return ordered ? <ol start={Number(start) || 1}>{content}</ol> : <ul>{content}</ul>
}

const Table = ({ header, align, rows }: Tokens.Table) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard.
  <section className="table" tabIndex={0} aria-label={t('app.markdown.table')}>
    <table>
      <thead>
        <tr>
          {header.map((cell, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: cells have no identity but their position.
            <th key={index} dir="auto" className={align[index] ?? undefined}>
              {renderInline(cell.tokens)}
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
              <td key={column} dir="auto" className={align[column] ?? undefined}>
                {renderInline(cell.tokens)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </section>
)

/**
 * Renders the tokens of a line. Plain text gets no element of its own, as each element costs time whenever the answer
 * grows.
 */
const renderInline = (tokens: readonly Token[]): ReactNode =>
  tokens.map((token, index) => renderInlineToken(token, index))

type Kind = MarkedToken['type']

/** Renders each kind of token within a line. */
const inlineElements: { [K in Kind]?: (token: Extract<MarkedToken, { type: K }>, key: number) => InlinePart } = {
  strong: ({ tokens }, key) => <strong key={key}>{renderInline(tokens)}</strong>,
  em: ({ tokens }, key) => <em key={key}>{renderInline(tokens)}</em>,
  del: ({ tokens }, key) => <del key={key}>{renderInline(tokens)}</del>,
  codespan: ({ text }, key) => <code key={key}>{text}</code>,
  br: (_token, key) => <br key={key} />,
  link: ({ href, text, tokens }, key) => (
    <Link key={key} href={href} words={text}>
      {renderInline(tokens)}
    </Link>
  ),
  image: (token, key) => <Picture key={key} {...token} />,
  text: (token, key) =>
    'tokens' in token && token.tokens ? (
      <Fragment key={key}>{renderInline(token.tokens)}</Fragment>
    ) : (
      decodeEntities(token.text)
    ),
  escape: ({ text }) => text,
}

type InlinePart = ReactElement | string

function renderInlineToken(token: Token, key: number): InlinePart {
  if (isMaths(token)) return <Formula key={key} tex={token.text} isBlock={token.raw.startsWith('$$')} />
  const show = inlineElements[token.type as Kind] as ((token: Token, key: number) => InlinePart) | undefined
  return show ? show(token, key) : token.raw
}

/** Shows a picture of another host as a link, because loading it could send parts of the conversation there. */
function Picture({ href, text }: Tokens.Image) {
  if (isDataImage(href)) return <img src={href} alt={text} />
  const words = t('app.markdown.picture', { name: text || getHost(href) })
  return (
    <Link href={href} words={words}>
      {words} <span className="host">({getHost(href)})</span>
    </Link>
  )
}

type FormulaRenderer = typeof import('./maths.ts')

/** The renderer, which is loaded with the first formula. */
let formulaRenderer: FormulaRenderer | undefined

/** Shows a formula, or its source until it is rendered and if it cannot be. */
function Formula({ tex, isBlock }: { tex: string; isBlock: boolean }) {
  const target = useRef<HTMLSpanElement>(null)
  const [isDrawn, setDrawn] = useState(formulaRenderer !== undefined)
  useLayoutEffect(() => {
    let isGone = false
    const draw = ({ renderFormula: renderMaths }: FormulaRenderer) => {
      if (isGone || !target.current) return
      try {
        renderMaths(target.current, tex, isBlock)
        setDrawn(true)
      } catch {
        // Invalid TeX is shown as source.
        setDrawn(false)
      }
    }
    if (formulaRenderer) draw(formulaRenderer)
    else
      import('./maths.ts').then(
        (loaded) => {
          formulaRenderer = loaded
          draw(loaded)
        },
        // The source stays visible when the renderer cannot be loaded.
        () => undefined,
      )
    return () => {
      isGone = true
    }
  }, [tex, isBlock])
  return (
    <span className={isBlock ? 'formula block' : 'formula'}>
      <span ref={target} />
      {!isDrawn && <code>{tex}</code>}
    </span>
  )
}
