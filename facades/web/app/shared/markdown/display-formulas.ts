import { isBlank } from './characters.ts'
import type { WorkBudget } from './work-budget.ts'

/** A formula in lines of its own, and the index of the line behind it. */
interface FoundLines {
  tex: string
  end: number
}

/** The beginning of a formula, and the mark that ends it. */
interface Opening {
  mark: string
  closing: string
  /** True if both marks are a part of the TeX. */
  isEnvironment: boolean
}

/** Finds formulas between `$$`, between `\[` and `\]`, and environments of TeX, in lines of their own. */
export class DisplayFormulas {
  readonly #lines: readonly string[]
  readonly #budget: WorkBudget
  /** The line before which no formula can begin that ends with this mark. */
  readonly #unended = new Map<string, number>()

  constructor(lines: readonly string[], budget: WorkBudget) {
    this.#lines = lines
    this.#budget = budget
  }

  /** Returns the formula that begins with this line. */
  find(at: number): FoundLines | undefined {
    const first = this.#lines[at]?.trimStart() ?? ''
    const opening = readOpening(first)
    if (!opening || at < (this.#unended.get(opening.closing) ?? 0)) return undefined
    const { mark, closing, isEnvironment } = opening
    const lines = [first.slice(mark.length)]
    const end = this.#findEnd(lines, at, closing)
    const last = lines.at(-1) ?? ''
    const close = last.indexOf(closing)
    const tex = [...lines.slice(0, -1), last.slice(0, Math.max(0, close))].join('\n').trim()
    if (close !== -1 && tex !== '' && isBlank(last.slice(close + closing.length)))
      return { tex: isEnvironment ? `${mark}${tex}${closing}` : tex, end: end + 1 }
    // Nothing ends there, or a sentence goes on behind the formula, which is a part of it.
    this.#unended.set(closing, end)
    return undefined
  }

  /** Collects lines up to the one with the end; returns the index of the last one. */
  #findEnd(lines: string[], at: number, closing: string): number {
    let end = at
    this.#budget.takeSteps(1 + (lines[0]?.length ?? 0))
    while (!lines.at(-1)?.includes(closing) && end + 1 < this.#lines.length) {
      const line = this.#lines[++end] ?? ''
      this.#budget.takeSteps(1 + line.length)
      lines.push(line)
    }
    return end
  }
}

const ENVIRONMENT = /^\\begin\{((?:equation|align|alignat|gather)\*?)\}/

function readOpening(line: string): Opening | undefined {
  if (line.startsWith('$$')) return { mark: '$$', closing: '$$', isEnvironment: false }
  if (line.startsWith('\\[')) return { mark: '\\[', closing: '\\]', isEnvironment: false }
  const [mark, name] = ENVIRONMENT.exec(line) ?? []
  return mark === undefined ? undefined : { mark, closing: `\\end{${name}}`, isEnvironment: true }
}
