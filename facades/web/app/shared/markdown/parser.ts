import { Marked, type Token, type TokenizerExtension, type Tokens } from 'marked'

/** A formula in TeX. */
export interface MathsToken extends Tokens.Generic {
  type: 'maths' | 'mathsBlock'
  raw: string
  text: string
}

export const isMaths = (token: Token): token is MathsToken => token.type === 'maths' || token.type === 'mathsBlock'

/** A formula in a paragraph of its own, between `$$` or between `\[` and `\]`. */
const mathsBlock: TokenizerExtension = {
  name: 'mathsBlock',
  level: 'block',
  start: (source) => source.match(/\$\$|\\\[/)?.index,
  tokenizer(source) {
    const match = /^ {0,3}(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\]) *(?:\n|$)/.exec(source)
    const text = match?.[1] ?? match?.[2]
    return match && text !== undefined ? { type: 'mathsBlock', raw: match[0], text: text.trim() } : undefined
  },
}

/**
 * A formula within a line. Single dollars count only if they are no prices: no blank follows the opening one or
 * precedes the closing one, and no digit follows the closing one.
 */
const inlineMaths: TokenizerExtension = {
  name: 'maths',
  level: 'inline',
  start: (source) => source.match(/\$|\\\(|\\\[/)?.index,
  tokenizer(source) {
    const match =
      /^\$\$([^$]+?)\$\$/.exec(source) ??
      /^\\\(([\s\S]+?)\\\)/.exec(source) ??
      /^\\\[([\s\S]+?)\\\]/.exec(source) ??
      /^\$(?![\s\d][^$]*\s)((?:\\.|[^$\\\n])*?[^\s\\$])\$(?!\d)/.exec(source)
    return match?.[1] === undefined ? undefined : { type: 'maths', raw: match[0], text: match[1].trim() }
  },
}

const marked = new Marked({ gfm: true, extensions: [mathsBlock, inlineMaths] })
const markedWithBreaks = new Marked({ gfm: true, breaks: true, extensions: [mathsBlock, inlineMaths] })

/** The last blocks, which the next character may still turn into something else. */
const OPEN_BLOCKS = 2

/** Parses a growing text incrementally: finished blocks are not parsed again and keep their identity. */
export class IncrementalMarkdown {
  readonly #marked: Marked
  #finished = ''
  #blocks: Token[] = []

  constructor({ hasLineBreaks = false } = {}) {
    this.#marked = hasLineBreaks ? markedWithBreaks : marked
  }

  parse(text: string): readonly Token[] {
    // The definition of a link may follow anywhere in the text.
    const hasDefinitions = /^ {0,3}\[[^\]\n]+\]:/m.test(text)
    if (hasDefinitions || !text.startsWith(this.#finished)) this.#reset()
    const tail = this.#marked.lexer(text.slice(this.#finished.length)) as Token[]
    if (!hasDefinitions) this.#finish(tail)
    const tailBlocks = tail.filter(isBlock)
    return hasDefinitions ? tailBlocks : [...this.#blocks, ...tailBlocks]
  }

  /** Moves finished blocks out of the tail: those that a blank line ends and several blocks follow. */
  #finish(tail: Token[]): void {
    for (;;) {
      const [first, second] = tail
      const isFinished = first && second?.type === 'space' && tail.filter(isBlock).length > OPEN_BLOCKS
      if (!isFinished) return
      this.#finished += first.raw + second.raw
      this.#blocks.push(first)
      tail.splice(0, 2)
    }
  }

  #reset(): void {
    this.#finished = ''
    this.#blocks = []
  }
}

const isBlock = ({ type }: Token) => type !== 'space' && type !== 'def'

/** Closes incomplete emphasis, code and links at the end of a streaming text. */
export function repairMarkdown(text: string): string {
  const fences = text.match(/^ {0,3}(```|~~~)/gm)?.length ?? 0
  if (fences % 2 === 1) return text
  const start = text.lastIndexOf('\n\n') + 1
  const [before, tail] = [text.slice(0, start), text.slice(start)]
  return before + closeEmphasis(removeOpenLink(tail))
}

/** Reduces an incomplete link to its words. */
const removeOpenLink = (tail: string) => tail.replace(/!?\[([^\]\n]*)(\]\([^)\n]*)?$/, '$1')

function closeEmphasis(tail: string): string {
  if (countMatches(tail, /(?<!\\)`/g) % 2 === 1) return `${tail.trimEnd()}\``
  const plain = tail.replace(/`[^`]*`/g, '')
  if (countMatches(plain, /\*\*/g) % 2 === 1) return /\*\*$/.test(tail) ? tail.slice(0, -2) : `${tail.trimEnd()}**`
  return tail
}

const countMatches = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0

const namedEntities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/** Decodes character references of Markdown. The result is rendered as text, so any character is safe. */
export const decodeEntities = (text: string): string =>
  text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,6}));/gi,
    (entity, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return namedEntities[name] ?? entity
      const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : entity
    },
  )
