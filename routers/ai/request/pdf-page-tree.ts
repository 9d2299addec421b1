import { afterText } from './pdf-text.ts'

const marks = /\/(?:Type\s{0,8}\/Page|Kids)(?![^\s/<>[\](){}%])|\/Count\s{0,8}\d{1,9}(?!\d|\s{1,4}\d{1,9}\s{1,4}R)/g

/** What is looked at twice, in bytes: neither a mark nor a text is longer. */
export const LOOKAHEAD = 1024

/** Bytes of streams may look like dictionaries that never end. */
const MAX_DEPTH = 64
const [BEGINS, ENDS] = [...Buffer.from('<>')]

/** One with kids is a part of the tree of pages; bookmarks have counts, too, and no kids. */
interface Dictionary {
  hasKids: boolean
  count: number
}

/** The pages that are in a PDF, and its own counts of them. */
export class PageTree {
  #found = 0
  #told = 0
  readonly #open: Dictionary[] = []

  get pages(): number {
    return Math.max(this.#found, this.#told)
  }

  /** Reads what begins before the end, which may be cut there; returns where to go on. */
  look(bytes: Buffer, end = bytes.length): number {
    let at = 0
    for (const { index, 0: mark } of bytes.toString('latin1').matchAll(marks)) {
      if (index >= end) break
      at = this.#readBrackets(bytes, at, index)
      if (mark.startsWith('/Type')) this.#found++
      else if (at === index) this.#tell(mark)
      at = Math.max(at, index + mark.length)
    }
    return Math.max(end, this.#readBrackets(bytes, at, end))
  }

  /** Returns where to go on, which is behind the end where a text is. */
  #readBrackets(bytes: Buffer, from: number, end: number): number {
    let at = from
    while (at < end) {
      const byte = bytes[at]
      if ((byte === BEGINS || byte === ENDS) && bytes[at + 1] === byte) {
        this.#nest(byte === BEGINS)
        at += 2
      } else at = afterText(bytes, at)
    }
    return at
  }

  #nest(begins: boolean): void {
    if (!begins) this.#open.pop()
    else {
      if (this.#open.length === MAX_DEPTH) this.#open.length = 0
      this.#open.push({ hasKids: false, count: 0 })
    }
  }

  #tell(mark: string): void {
    const dictionary = this.#open.at(-1)
    if (!dictionary) return
    if (mark === '/Kids') dictionary.hasKids = true
    else dictionary.count = Math.max(dictionary.count, Number(mark.slice('/Count'.length)))
    if (dictionary.hasKids) this.#told = Math.max(this.#told, dictionary.count)
  }
}
