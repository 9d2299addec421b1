import { Marked, type Token, type TokenizerExtension, type Tokens } from 'marked'

/** A formula, as TeX. */
export interface MathsToken extends Tokens.Generic {
  type: 'maths' | 'mathsBlock'
  raw: string
  text: string
}

export const isMaths = (token: Token): token is MathsToken => token.type === 'maths' || token.type === 'mathsBlock'

/** A formula of its own paragraph: between `$$` or `\[` and `\]`. */
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
 * A formula within a line. A single dollar counts only where it is no price: it opens before no blank and closes behind none,
 * and no digit follows the closing one.
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

/** Blocks at the end that may yet become something else with the next character. */
const OPEN_BLOCKS = 2

/** Reads a text that grows as its blocks: those that are finished are not read again, and stay the same objects. */
export class IncrementalMarkdown {
  /** The text of the finished blocks. */
  #finished = ''
  #blocks: Token[] = []

  parse(text: string): readonly Token[] {
    // What a link means may stand anywhere behind it.
    const hasDefinitions = /^ {0,3}\[[^\]\n]+\]:/m.test(text)
    if (hasDefinitions || !text.startsWith(this.#finished)) this.#reset()
    const tail = lex(text.slice(this.#finished.length))
    if (!hasDefinitions) this.#finish(tail)
    const shown = tail.filter(isBlock)
    return hasDefinitions ? shown : [...this.#blocks, ...shown]
  }

  /** Takes from the tail what is finished: what ended with a blank line, and has several blocks behind it. */
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

function lex(text: string): Token[] {
  return marked.lexer(text) as Token[]
}

/** Closes for display what is half-written at the end of a text: emphasis, code and links. */
export function repairMarkdown(text: string): string {
  const fences = text.match(/^ {0,3}(```|~~~)/gm)?.length ?? 0
  if (fences % 2 === 1) return text
  const start = text.lastIndexOf('\n\n') + 1
  const [before, tail] = [text.slice(0, start), text.slice(start)]
  return before + closeEmphasis(removeOpenLink(tail))
}

/** Of a link that is not written to its end, only the words are shown. */
const removeOpenLink = (tail: string) => tail.replace(/!?\[([^\]\n]*)(\]\([^)\n]*)?$/, '$1')

function closeEmphasis(tail: string): string {
  if (countMatches(tail, /(?<!\\)`/g) % 2 === 1) return `${tail.trimEnd()}\``
  const plain = tail.replace(/`[^`]*`/g, '')
  if (countMatches(plain, /\*\*/g) % 2 === 1) return /\*\*$/.test(tail) ? tail.slice(0, -2) : `${tail.trimEnd()}**`
  return tail
}

const countMatches = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0

const namedEntities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

/** The characters that a text in Markdown names. The result is shown as text, whatever it is. */
export const decodeEntities = (text: string): string =>
  text.replace(
    /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,6}));/gi,
    (entity, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return namedEntities[name] ?? entity
      const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : entity
    },
  )
