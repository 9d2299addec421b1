import { getCharacterAt, getCharacterBefore, isCjk, isPunctuation, isWhitespace } from './characters.ts'
import type { InlineNode, NodeList } from './inline-nodes.ts'
import type { InlineTag } from './tokens.ts'
import type { WorkBudget } from './work-budget.ts'

/** A run of `*`, `_` or `~~` that may open or close emphasis. */
export interface Delimiter {
  node: InlineNode
  /** The position among the delimiters of the line. */
  order: number
  character: string
  count: number
  length: number
  canOpen: boolean
  canClose: boolean
  previous: Delimiter | undefined
  next: Delimiter | undefined
}

/** Matches delimiters as CommonMark describes, within the deepest nesting that is shown. */
export class DelimiterStack {
  readonly #nodes: NodeList
  readonly #budget: WorkBudget
  #last: Delimiter | undefined
  #count = 0

  constructor(nodes: NodeList, budget: WorkBudget) {
    this.#nodes = nodes
    this.#budget = budget
  }

  get last(): Delimiter | undefined {
    return this.#last
  }

  /** Adds the run that begins at this index; returns the index behind it. */
  add(text: string, start: number): number {
    const character = text[start] as string
    let end = start + 1
    while (text[end] === character) end++
    const length = end - start
    this.#budget.takeSteps(length)
    const node = this.#nodes.append(text.slice(start, end))
    // Models write one tilde for «about» and for ranges.
    if (character === '~' && length !== 2) return end
    const sides = findSides(character, getCharacterBefore(text, start), getCharacterAt(text, end))
    if (!sides.canOpen && !sides.canClose) return end
    const order = ++this.#count
    const delimiter = { node, order, character, count: length, length, ...sides, previous: this.#last, next: undefined }
    if (this.#last) this.#last.next = delimiter
    this.#last = delimiter
    return end
  }

  /** Turns the delimiters behind this one into emphasis, and forgets them. */
  close(bottom: Delimiter | undefined): void {
    let closer = bottom ? bottom.next : findFirst(this.#last)
    const searchedTo = new Map<string, number>()
    while (closer) {
      closer = closer.canClose ? this.#closeOne(closer, bottom, searchedTo) : closer.next
    }
    this.#last = bottom
    if (bottom) bottom.next = undefined
  }

  /** Matches a closing delimiter with the nearest opening one; returns the next one to look at. */
  #closeOne(closer: Delimiter, bottom: Delimiter | undefined, searchedTo: Map<string, number>): Delimiter | undefined {
    const kind = `${closer.character}${closer.canOpen}${closer.length % 3}`
    const opener = this.#findOpener(closer, Math.max(bottom?.order ?? 0, searchedTo.get(kind) ?? 0))
    if (!opener || !this.#wrap(opener, closer)) {
      searchedTo.set(kind, closer.previous?.order ?? 0)
      const { next } = closer
      if (!closer.canOpen) this.#remove(closer)
      return next
    }
    if (closer.count > 0) return closer
    const { next } = closer
    this.#remove(closer)
    return next
  }

  /** Finds the nearest opening delimiter behind the one with this order. */
  #findOpener(closer: Delimiter, floor: number): Delimiter | undefined {
    for (let opener = closer.previous; opener && opener.order > floor; opener = opener.previous) {
      this.#budget.takeSteps(1)
      if (opener.canOpen && opener.character === closer.character && !isOddMatch(opener, closer)) return opener
    }
    return undefined
  }

  #wrap(opener: Delimiter, closer: Delimiter): boolean {
    const width = opener.count >= 2 && closer.count >= 2 ? 2 : 1
    const type: InlineTag = closer.character === '~' ? 'del' : width === 2 ? 'strong' : 'em'
    const isWrapped = this.#nodes.wrapBetween(opener.node, closer.node, (content) => ({ type, content }))
    if (!isWrapped) return false
    // The delimiters between the two match nothing any more.
    opener.next = closer
    closer.previous = opener
    for (const delimiter of [opener, closer]) {
      delimiter.count -= width
      delimiter.node.value = delimiter.character.repeat(delimiter.count)
    }
    if (opener.count === 0) this.#remove(opener)
    return true
  }

  #remove(delimiter: Delimiter): void {
    const { previous, next } = delimiter
    if (previous) previous.next = next
    if (next) next.previous = previous
    else this.#last = previous
  }
}

function findFirst(last: Delimiter | undefined): Delimiter | undefined {
  let first = last
  while (first?.previous) first = first.previous
  return first
}

const isOddMatch = (opener: Delimiter, closer: Delimiter) =>
  (opener.canClose || closer.canOpen) &&
  (opener.length + closer.length) % 3 === 0 &&
  (opener.length % 3 !== 0 || closer.length % 3 !== 0)

/**
 * Returns the sides on which a run of delimiters can stand. Beside letters that are written without blanks, punctuation
 * does not decide it, as a sentence there ends within the emphasis and the next one follows at once.
 */
function findSides(character: string, before: string, after: string): Pick<Delimiter, 'canOpen' | 'canClose'> {
  const [isBlankBefore, isBlankAfter] = [isWhitespace(before), isWhitespace(after)]
  const [isMarkBefore, isMarkAfter] = [isPunctuation(before), isPunctuation(after)]
  const isLeft = !isBlankAfter && (!isMarkAfter || isCjk(after) || isBlankBefore || isMarkBefore || isCjk(before))
  const isRight = !isBlankBefore && (!isMarkBefore || isCjk(before) || isBlankAfter || isMarkAfter || isCjk(after))
  if (character !== '_') return { canOpen: isLeft, canClose: isRight }
  return { canOpen: isLeft && (!isRight || isMarkBefore), canClose: isRight && (!isLeft || isMarkAfter) }
}
