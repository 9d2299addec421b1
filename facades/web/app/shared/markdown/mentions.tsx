import { createContext, type ReactNode, useContext } from 'react'
import { IncrementalMarkdown } from './parser.ts'
import type { Block, Inline } from './tokens.ts'

/** The handles that can be mentioned, in lower case, with the names that they stand for. */
export type Handles = ReadonlyMap<string, { name: string; isSelf: boolean }>

const noHandles: Handles = new Map()

const HandlesContext = createContext(noHandles)

/** Provides the handles that are shown as mentions in texts. */
export const HandlesProvider = HandlesContext.Provider

/** Shows no mentions in its children, as quotations and links mention nobody. */
export const WithoutMentions = ({ children }: { children: ReactNode }) => (
  <HandlesContext value={noHandles}>{children}</HandlesContext>
)

/** A handle is preceded by nothing that makes it the end of an address. It does not end with a full stop or hyphen. */
const HANDLE = /(?<![\p{L}\p{N}_@./-])@([\p{L}\p{N}_](?:[\p{L}\p{N}_.@-]*[\p{L}\p{N}_])?)/gu

/** A text of a line, in which mentions are marked. */
export function TextWithMentions({ text }: { text: string }): ReactNode {
  const handles = useContext(HandlesContext)
  if (handles.size === 0) return text
  const parts: ReactNode[] = []
  let end = 0
  for (const { 0: written, 1: handle = '', index } of text.matchAll(HANDLE)) {
    const mentioned = handles.get(handle.toLowerCase())
    if (!mentioned) continue
    parts.push(
      text.slice(end, index),
      <span key={index} className="mention" title={mentioned.name} data-self={mentioned.isSelf || undefined}>
        {written}
      </span>,
    )
    end = index + written.length
  }
  return [...parts, text.slice(end)]
}

/** Lists the handles that a text mentions, in lower case, outside of code, links and quotations. */
export function findHandles(text: string): ReadonlySet<string> {
  const handles = new Set<string>()
  if (!text.includes('@')) return handles
  const parser = new IncrementalMarkdown({ hasLineBreaks: true })
  for (const line of listTexts(parser.parse(text)))
    for (const [, handle = ''] of line.matchAll(HANDLE)) handles.add(handle.toLowerCase())
  return handles
}

function* listTexts(blocks: readonly Block[]): Generator<string> {
  for (const block of blocks) {
    if (block.type === 'plain') yield block.text
    yield* listInlineTexts(getContent(block))
    if (block.type === 'list') yield* listTexts(block.items.flatMap((item) => item.blocks))
  }
}

/** Returns the lines of a block that can mention somebody. */
function getContent(block: Block): readonly Inline[] {
  if (block.type === 'heading' || block.type === 'paragraph') return block.content
  return block.type === 'table' ? [block.header, ...block.rows].flat(2) : []
}

function* listInlineTexts(content: readonly Inline[]): Generator<string> {
  for (const part of content) {
    if (typeof part === 'string') yield part
    else if (part.type !== 'link' && 'content' in part) yield* listInlineTexts(part.content)
  }
}
