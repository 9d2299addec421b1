import type { Inline, InlineElement } from './tokens.ts'
import type { WorkBudget } from './work-budget.ts'

/** The deepest nesting of elements within a line; deeper ones are shown as text. */
export const MAX_INLINE_DEPTH = 12

/** A part of a line while the line is parsed, in a list that is linked in both directions. */
export interface InlineNode {
  value: Inline
  /** The number of elements that are nested in this one. */
  depth: number
  previous: InlineNode | undefined
  next: InlineNode | undefined
}

export class NodeList {
  readonly #budget: WorkBudget
  #first: InlineNode | undefined
  #last: InlineNode | undefined
  #isTooDeep = false

  constructor(budget: WorkBudget) {
    this.#budget = budget
  }

  get last(): InlineNode | undefined {
    return this.#last
  }

  append(value: Inline): InlineNode {
    if (typeof value !== 'string') this.#budget.takeElements(1)
    const node = { value, depth: typeof value === 'string' ? 0 : 1, previous: this.#last, next: undefined }
    if (this.#last) this.#last.next = node
    else this.#first = node
    this.#last = node
    return node
  }

  /** Moves the nodes between two into a new element; returns false if the nesting would be too deep. */
  wrapBetween(before: InlineNode, after: InlineNode, build: (content: Inline[]) => InlineElement): boolean {
    const inner = this.#collect(before.next, after)
    if (!inner) return false
    const node = { value: build(inner.content), depth: inner.depth + 1, previous: before, next: after }
    before.next = node
    after.previous = node
    return true
  }

  /** Replaces an opening node and all nodes behind it by a new element that contains these. */
  wrapFrom(opener: InlineNode, build: (content: Inline[]) => InlineElement): boolean {
    const inner = this.#collect(opener.next, undefined)
    if (!inner) return false
    opener.value = build(inner.content)
    opener.depth = inner.depth + 1
    opener.next = undefined
    this.#last = opener
    return true
  }

  /** Replaces an opening node and all nodes behind it by an element that has no content of theirs. */
  replaceFrom(opener: InlineNode, value: InlineElement): void {
    this.#budget.takeElements(1)
    Object.assign(opener, { value, depth: 1, next: undefined })
    this.#last = opener
  }

  toContent(): Inline[] {
    return this.#read(this.#first, undefined).content
  }

  /** Reads nodes for a new element. After one that was too deep nothing more is nested in this line. */
  #collect(first: InlineNode | undefined, end: InlineNode | undefined) {
    if (this.#isTooDeep) return undefined
    this.#budget.takeElements(1)
    const inner = this.#read(first, end)
    this.#isTooDeep = inner.depth >= MAX_INLINE_DEPTH
    return this.#isTooDeep ? undefined : inner
  }

  #read(first: InlineNode | undefined, end: InlineNode | undefined): { content: Inline[]; depth: number } {
    const content: Inline[] = []
    let depth = 0
    for (let node = first; node && node !== end; node = node.next) {
      this.#budget.takeSteps(1)
      depth = Math.max(depth, node.depth)
      const before = content.at(-1)
      if (typeof node.value === 'string' && typeof before === 'string')
        content[content.length - 1] = before + node.value
      else if (node.value !== '') content.push(node.value)
    }
    return { content, depth }
  }
}

/** Returns the words of a line without its marks. */
export const toPlainWords = (content: readonly Inline[]): string =>
  content.map((part) => (typeof part === 'string' ? part : describeElement(part))).join('')

function describeElement(element: InlineElement): string {
  if ('content' in element) return toPlainWords(element.content)
  if (element.type === 'maths') return element.tex
  if (element.type === 'break') return ' '
  return 'text' in element ? element.text : ''
}
