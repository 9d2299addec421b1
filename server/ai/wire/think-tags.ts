/** What a model says in a piece of text: an answer, or a thought. */
export interface ThoughtPiece {
  type: 'text' | 'reasoning'
  text: string
}

const tags = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['[THINK]', '[/THINK]'],
] as const

/** Finds the thoughts that a model says between tags before its answer, in a text that comes in pieces. */
export class ThoughtSplitter {
  /** What may be the beginning of a tag. */
  #held = ''
  /** The tag that ends the thoughts. */
  #closing: string | undefined
  #step: 'before' | 'thinking' | 'after' | 'answer' = 'before'

  feed(text: string): ThoughtPiece[] {
    this.#held += text
    const said: ThoughtPiece[] = []
    if (this.#step === 'before') this.#open()
    if (this.#step === 'thinking') said.push({ type: 'reasoning', text: this.#think() })
    if (this.#step === 'after') this.#skipBlanks()
    if (this.#step === 'answer') said.push({ type: 'text', text: this.#take() })
    return said.filter((piece) => piece.text !== '')
  }

  /** What was held back is what it looked like. */
  end(): ThoughtPiece[] {
    const text = this.#take()
    return text ? [{ type: this.#step === 'thinking' ? 'reasoning' : 'text', text }] : []
  }

  #open(): void {
    const begun = this.#held.trimStart()
    const tag = tags.find(([opening]) => begun.startsWith(opening))
    if (tag) {
      this.#held = begun.slice(tag[0].length)
      this.#closing = tag[1]
      this.#step = 'thinking'
    } else if (!tags.some(([opening]) => opening.startsWith(begun))) this.#step = 'answer'
  }

  #think(): string {
    const closing = this.#closing ?? ''
    const end = this.#held.indexOf(closing)
    if (end !== -1) {
      const thought = this.#held.slice(0, end)
      this.#held = this.#held.slice(end + closing.length)
      this.#step = 'after'
      return thought
    }
    const held = lengthOfStart(closing, this.#held)
    const thought = this.#held.slice(0, this.#held.length - held)
    this.#held = this.#held.slice(thought.length)
    return thought
  }

  #skipBlanks(): void {
    this.#held = this.#held.trimStart()
    if (this.#held) this.#step = 'answer'
  }

  #take(): string {
    const text = this.#held
    this.#held = ''
    return text
  }
}

/** How many characters at the end of a text may be the start of a tag. */
function lengthOfStart(tag: string, text: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--)
    if (text.endsWith(tag.slice(0, length))) return length
  return 0
}
