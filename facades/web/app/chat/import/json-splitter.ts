/** Longer members are left out: nothing that people write to each other is so long, and all of it would be held at once. */
const MAX_MEMBER = 64 * 1024 * 1024

/** What stands in a list, as text; undefined for what is too long. */
export type Member = string | undefined

/**
 * Cuts a text in JSON, which comes in pieces, into the members of its list, so that no more than one of them is held. A text
 * that is no list counts as its only member.
 */
export class JsonSplitter {
  #depth = 0
  #isInString = false
  #isList: boolean | undefined
  /** A sign at the end of a piece that says how to read the next one. */
  #escape = ''
  #pieces: string[] = []
  #length = 0

  /** Whether something stands there that did not end. */
  get isCut(): boolean {
    return this.#isList === undefined || this.#depth > 0
  }

  /** The members that end in this piece. */
  *push(piece: string): Generator<Member> {
    const text = this.#withoutEscape(this.#escape + (this.#isList === undefined ? this.#begin(piece) : piece))
    let start = 0
    for (const { 0: sign, index } of text.matchAll(STRUCTURE)) {
      if (!this.#endsMember(sign)) continue
      // The end of an object belongs to it, a comma and the end of the list do not.
      this.#keep(text.slice(start, this.#isList ? index : index + 1))
      start = index + 1
      yield* this.#takeMember()
    }
    this.#keep(text.slice(start))
  }

  /** Finds out whether it is a list, whose beginning is no part of its first member. */
  #begin(piece: string): string {
    const text = piece.replace(/^[\uFEFF\s]+/, '')
    if (text === '') return ''
    this.#isList = text.startsWith('[')
    if (!this.#isList) return text
    this.#depth = 1
    return text.slice(1)
  }

  #withoutEscape(text: string): string {
    let end = text.length
    while (text[end - 1] === '\\') end--
    this.#escape = (text.length - end) % 2 === 1 ? '\\' : ''
    return text.slice(0, text.length - this.#escape.length)
  }

  #endsMember(sign: string): boolean {
    if (sign === '"') this.#isInString = !this.#isInString
    if (this.#isInString || sign === '"' || sign.startsWith('\\')) return false
    if (sign === ',') return this.#isList === true && this.#depth === 1
    const isOpening = sign === '{' || sign === '['
    this.#depth += isOpening ? 1 : -1
    return !isOpening && this.#depth === 0
  }

  #keep(piece: string): void {
    this.#length += piece.length
    if (this.#length <= MAX_MEMBER) this.#pieces.push(piece)
    else this.#pieces = []
  }

  *#takeMember(): Generator<Member> {
    const isTooLong = this.#length > MAX_MEMBER
    const member = this.#pieces.join('').trim()
    this.#pieces = []
    this.#length = 0
    if (isTooLong) yield undefined
    else if (member !== '') yield member
  }
}

/** What gives a text in JSON its structure; in strings, a sign behind a backslash is none. */
const STRUCTURE = /\\.|["[\]{},]/gs
