// Repetitions are bounded, since a stream waits for the end of whatever has begun.
const openingFence = /[ \t]{0,12}(?:(`{3,80})[^`\n]{0,200}|(~{3,80})[^\n]{0,200})\n/y
const beginOfFence = /[ \t]{0,12}(?:`{1,2}|`{3,80}[^`\n]{0,200}|~{1,2}|~{3,80}[^\n]{0,200})?$/y
const beginOfClosingFence = /[ \t]{0,12}[`~]{0,80}[ \t\r]{0,80}$/y

/** Code and formulas within a text: each as a whole, and what may become one. */
const spans: readonly { whole: RegExp; begin: RegExp }[] = [
  { whole: /(`{1,80})(?!`)[^\n]{0,500}?(?<!`)\1(?!`)/y, begin: /`{1,80}[^\n]{0,500}$/y },
  { whole: /\$\$[\s\S]{0,2000}?\$\$/y, begin: /\$\$[\s\S]{0,2000}$/y },
  { whole: /\\\[[\s\S]{0,2000}?\\\]/y, begin: /\\(?:\[[\s\S]{0,2000})?$/y },
  { whole: /\\\([^\n]{0,500}?\\\)/y, begin: /\\\([^\n]{0,500}$/y },
  // A dollar before a digit or behind a space is that of a price.
  {
    whole: /\$(?![\s\d$])(?:[^$\n\\]|\\.){1,500}?(?<!\s)\$(?!\d)/y,
    begin: /\$(?![\s\d$])(?:[^$\n\\]|\\.){0,500}[\\$]?$/y,
  },
]

/** Tells the parts of an answer that stay as they are: JSON, code and formulas. */
export class VerbatimScanner {
  /** True if the answer begins with a brace, as JSON does; undefined before its first letter. */
  #isJson: boolean | undefined
  /** The characters that close the present code block. */
  #fence: string | undefined
  #isAtLineStart = true

  /**
   * Returns the number of characters at the beginning of a rest that stay as they are; 0 if it begins with other text, and
   * undefined if that depends on what follows.
   */
  measure(rest: string, isEnd: boolean): number | undefined {
    this.#isJson ??= /\S/.exec(rest)?.[0].startsWith('{')
    if (this.#isJson) return rest.length
    if (this.#fence !== undefined) return this.#measureFence(rest, this.#fence, isEnd)
    if (!this.#isAtLineStart) return measureSpan(rest, isEnd)
    const opening = match(openingFence, rest, 0)
    if (!opening) return !isEnd && match(beginOfFence, rest, 0) ? undefined : measureSpan(rest, isEnd)
    this.#fence = opening[1] ?? opening[2]
    return opening[0].length
  }

  /** Moves on behind a text that was written. */
  advance(text: string): void {
    if (text !== '') this.#isAtLineStart = text.endsWith('\n')
  }

  /** Takes the lines of a code block, until one closes it. */
  #measureFence(rest: string, fence: string, isEnd: boolean): number | undefined {
    const end = rest.indexOf('\n')
    const line = end < 0 ? rest : rest.slice(0, end + 1)
    const isWhole = end >= 0 || isEnd
    if (this.#isAtLineStart && !isWhole && match(beginOfClosingFence, line, 0)) return undefined
    const isClosing = this.#isAtLineStart && isWhole && line.trim().startsWith(fence) && /^(`+|~+)$/.test(line.trim())
    if (isClosing) this.#fence = undefined
    return line.length
  }
}

/** Measures the code or the formula that a rest begins with. */
function measureSpan(rest: string, isEnd: boolean): number | undefined {
  for (const { whole, begin } of spans) {
    const length = match(whole, rest, 0)?.[0].length
    // Further marks may follow the last ones, or the digit of a price.
    if (length !== undefined && (isEnd || length < rest.length)) return length
    if (!isEnd && match(begin, rest, 0)) return undefined
  }
  return 0
}

export function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}
