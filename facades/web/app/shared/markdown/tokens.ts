/** Tags without attributes that models write, by the element that shows them. */
export const inlineTags = {
  b: 'strong',
  strong: 'strong',
  i: 'em',
  em: 'em',
  s: 'del',
  del: 'del',
  sub: 'sub',
  sup: 'sup',
  kbd: 'kbd',
  mark: 'mark',
  u: 'u',
  small: 'small',
} as const

export type InlineTag = (typeof inlineTags)[keyof typeof inlineTags]

/** A part of a line: a text, or an element. */
export type Inline = string | InlineElement

export type InlineElement =
  | { type: InlineTag; content: Inline[] }
  | { type: 'code'; text: string }
  | { type: 'link'; href: string; words: string; content: Inline[] }
  | { type: 'image'; href: string; text: string }
  | MathsToken
  | { type: 'break' }
  /** A named character that the parser does not know. */
  | { type: 'entity'; name: string }
  | { type: 'note'; number: number; text: string }
  /** The number of a formula, or its label if it has none. */
  | ReferenceToken

/** A formula in TeX. */
export interface MathsToken {
  type: 'maths'
  tex: string
  isDisplay: boolean
}

export interface ReferenceToken {
  type: 'reference'
  label: string
  text: string
}

export type Direction = 'ltr' | 'rtl'

/** A block with the source that it was made from, by which an unchanged block is recognized. */
export type Block = { source: string } & BlockContent

export type BlockContent =
  | { type: 'heading'; level: number; content: Inline[] }
  | { type: 'paragraph'; content: Inline[]; isTight: boolean }
  | { type: 'code'; text: string; language: string }
  | { type: 'quote'; blocks: Block[]; direction: Direction }
  | ListToken
  | TableToken
  | { type: 'rule' }
  | MathsToken
  | NotesToken
  /** Text that is shown as it was written. */
  | { type: 'plain'; text: string }

/** The footnotes of a text. */
export interface NotesToken {
  type: 'notes'
  notes: { number: number; blocks: Block[] }[]
}

export interface ListToken {
  type: 'list'
  isOrdered: boolean
  start: number
  items: ListItem[]
  direction: Direction
}

export interface ListItem {
  blocks: Block[]
  /** True for a task that is done; undefined for an item that is no task. */
  isDone?: boolean | undefined
}

export type Alignment = 'left' | 'center' | 'right' | undefined

export interface TableToken {
  type: 'table'
  alignments: Alignment[]
  header: Inline[][]
  rows: Inline[][][]
  direction: Direction
}
