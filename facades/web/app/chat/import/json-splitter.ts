/** The longest member. Longer ones are left out, as each member is kept in memory as a whole. */
const MAX_MEMBER = 64 * 1024 * 1024

/** The text of a member; undefined if it is too long. */
export type Member = string | undefined

/**
 * Splits streaming JSON into the members of its list, so that only one of them is in memory at a time. JSON that is no
 * list counts as one member.
 */
export class JsonSplitter {
  #depth = 0
  #isInString = false
  #isList: boolean | undefined
  /** A backslash at the end of a piece, which escapes the first character of the next one. */
  #escape = ''
  #pieces: string[] = []
  #length = 0

  /** True if the JSON ended too early. */
  get isCut(): boolean {
    return this.#isList === undefined || this.#depth > 0
  }

  /** Yields the members that end in this piece. */
  *push(piece: string): Generator<Member> {
    const text = this.#cutTrailingEscape(this.#escape + (this.#isList === undefined ? this.#detectList(piece) : piece))
    let start = 0
    for (const { 0: character, index } of text.matchAll(STRUCTURE)) {
      if (!this.#endsMember(character)) continue
      // The closing bracket of an object belongs to the member, a comma or the end of the list does not.
      this.#append(text.slice(start, this.#isList ? index : index + 1))
      start = index + 1
      yield* this.#takeMember()
    }
    this.#append(text.slice(start))
  }

  /** Detects whether the text is a list, and removes its opening bracket. */
  #detectList(piece: string): string {
    const text = piece.replace(/^[\uFEFF\s]+/, '')
    if (text === '') return ''
    this.#isList = text.startsWith('[')
    if (!this.#isList) return text
    this.#depth = 1
    return text.slice(1)
  }

  #cutTrailingEscape(text: string): string {
    let end = text.length
    while (text[end - 1] === '\\') end--
    this.#escape = (text.length - end) % 2 === 1 ? '\\' : ''
    return text.slice(0, text.length - this.#escape.length)
  }

  #endsMember(character: string): boolean {
    if (character === '"') this.#isInString = !this.#isInString
    if (this.#isInString || character === '"' || character.startsWith('\\')) return false
    if (character === ',') return this.#isList === true && this.#depth === 1
    const isOpening = character === '{' || character === '['
    this.#depth += isOpening ? 1 : -1
    return !isOpening && this.#depth === 0
  }

  #append(piece: string): void {
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

/** Characters that structure JSON, and escaped characters, which do not. */
const STRUCTURE = /\\.|["[\]{},]/gs
