import { findNamedCharacter } from './entities.ts'
import type { Inline, InlineElement } from './tokens.ts'

/** The words for what has no text. */
export interface InlineWords {
  formula: (tex: string) => string
  picture: (picture: { href: string; text: string }) => string
}

/** Returns the text of the parts of a line as it is shown. */
export const writeInline = (content: readonly Inline[], words: InlineWords): string =>
  content.map((part) => (typeof part === 'string' ? part : writeElement(part, words))).join('')

function writeElement(element: InlineElement, words: InlineWords): string {
  switch (element.type) {
    case 'code':
    case 'reference':
      return element.text
    case 'break':
      return '\n'
    case 'image':
      return words.picture(element)
    case 'maths':
      return words.formula(element.tex)
    case 'entity':
      return findNamedCharacter(element.name) ?? `&${element.name};`
    case 'note':
      return ''
    default:
      return writeInline(element.content, words)
  }
}
