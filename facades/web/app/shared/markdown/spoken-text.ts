import { writeInline } from './inline-text.ts'
import { parseMarkdown } from './parser.ts'
import { getHost, isDataImage } from './safe-link.ts'
import type { Block, Inline } from './tokens.ts'

/** The words for what is named instead of read. */
export interface SpokenNames {
  code: string
  formula: string
  picture: (name: string) => string
}

/** Returns what a text says when it is read aloud: what is shown, with code blocks, formulas and pictures by name. */
export function toSpokenText(text: string, names: SpokenNames): string {
  return new Speaker(names).speakBlocks(parseMarkdown(text).blocks)
}

class Speaker {
  readonly #names: SpokenNames

  constructor(names: SpokenNames) {
    this.#names = names
  }

  speakBlocks(blocks: readonly Block[]): string {
    return joinLines(blocks.map((block) => this.#speakBlock(block)))
  }

  #speakBlock(block: Block): string {
    switch (block.type) {
      case 'heading':
      case 'paragraph':
        return this.#speakInline(block.content)
      case 'code':
        return this.#names.code
      case 'quote':
        return this.speakBlocks(block.blocks)
      case 'list':
        return joinLines(block.items.map(({ blocks }) => this.speakBlocks(blocks)))
      case 'table':
        return joinLines([block.header, ...block.rows].map((row) => this.#speakRow(row)))
      case 'rule':
        return ''
      case 'maths':
        return this.#names.formula
      case 'notes':
        return joinLines(block.notes.map(({ blocks }) => this.speakBlocks(blocks)))
      case 'plain':
        return block.text
    }
  }

  #speakRow(cells: readonly Inline[][]): string {
    return cells.map((cell) => this.#speakInline(cell)).join(', ')
  }

  #speakInline(content: readonly Inline[]): string {
    return writeInline(content, {
      formula: () => this.#names.formula,
      picture: ({ href, text }) => (isDataImage(href) ? text : this.#names.picture(text || getHost(href))),
    })
  }
}

const joinLines = (lines: readonly string[]): string => lines.filter((line) => line.trim() !== '').join('\n')
