import type { MathsToken, ReferenceToken } from './tokens.ts'
import type { WorkBudget } from './work-budget.ts'

/** A formula in a line, and the index behind it. */
interface FoundFormula {
  formula: MathsToken
  end: number
}

/** Finds formulas in a line. It remembers which ends do not follow any more, so that no text is searched twice. */
export class FormulaFinder {
  readonly #text: string
  readonly #budget: WorkBudget
  readonly #missing = new Set<string>()

  constructor(text: string, budget: WorkBudget) {
    this.#text = text
    this.#budget = budget
  }

  /** Returns the formula that begins at this index with a dollar, `\(` or `\[`. */
  find(start: number): FoundFormula | undefined {
    const text = this.#text
    if (text.startsWith('$$', start)) return this.#findDouble(start)
    if (text[start] === '$') return this.#findSingle(start)
    if (text.startsWith('\\(', start)) return this.#findUntil(start, '\\)', false)
    if (text.startsWith('\\[', start)) return this.#findUntil(start, '\\]', true)
    return undefined
  }

  #findUntil(start: number, closing: string, isDisplay: boolean): FoundFormula | undefined {
    if (this.#missing.has(closing)) return undefined
    const at = this.#text.indexOf(closing, start + 2)
    this.#budget.takeSteps((at === -1 ? this.#text.length : at) - start)
    if (at === -1) this.#missing.add(closing)
    return at === -1 ? undefined : buildFormula(this.#text.slice(start + 2, at), isDisplay, at + 2)
  }

  #findDouble(start: number): FoundFormula | undefined {
    if (this.#missing.has('$')) return undefined
    const at = this.#text.indexOf('$', start + 2)
    this.#budget.takeSteps((at === -1 ? this.#text.length : at) - start)
    if (at === -1) this.#missing.add('$')
    // More than two dollars are a rating.
    if (at === -1 || this.#text[at + 1] !== '$' || this.#text[at + 2] === '$') return undefined
    return buildFormula(this.#text.slice(start + 2, at), true, at + 2)
  }

  #findSingle(start: number): FoundFormula | undefined {
    const text = this.#text
    let at = start + 1
    while (at < text.length && text[at] !== '$' && text[at] !== '\n') at += text[at] === '\\' ? 2 : 1
    this.#budget.takeSteps(at - start)
    if (text[at] !== '$') return undefined
    const tex = text.slice(start + 1, at)
    const isFound = isFormula(tex) && fitsBetween(text[start - 1] ?? '', tex, text.slice(at + 1, at + 3))
    return isFound ? buildFormula(removeTicks(tex), false, at + 1) : undefined
  }
}

/** Removes the back-ticks that GitLab writes inside the dollars. */
const removeTicks = (tex: string) => (/^`[^`]+`$/.test(tex) ? tex.slice(1, -1) : tex)

const COMMAND = /\\[a-z]+/i

/**
 * Tells a formula from prices and variables by what stands around it: no letter or digit before it, and no digit or name
 * in capitals behind it, unless it goes on with them, as in `H$_2$O` and `3$\times$3`.
 */
const fitsBetween = (before: string, tex: string, after: string): boolean =>
  /^(?:[_^]|\\[a-z])/i.test(tex) || !(/[a-z\d]/i.test(before) || /^(?:\d|[A-Z_]{2})/.test(after))

/**
 * Tells a formula between single dollars from two prices. A command of TeX or a power makes it one, even with blanks
 * inside the dollars; otherwise it has no blanks there, and one that begins with a digit has no blanks at all, or a
 * relation and no words.
 */
function isFormula(tex: string): boolean {
  const isTex = COMMAND.test(tex) || /\w\^[\w{]/.test(tex)
  if (tex !== tex.trim()) return isTex && tex.startsWith(' ') && tex.endsWith(' ')
  if (tex === '') return false
  return !/^\d.*\s/.test(tex) || isTex || (/[=<]/.test(tex) && !/\p{L}{4}/u.test(tex))
}

function buildFormula(text: string, isDisplay: boolean, end: number): FoundFormula | undefined {
  const tex = text.trim()
  return tex === '' ? undefined : { formula: { type: 'maths', tex, isDisplay }, end }
}

/** The formulas of a text, whose labels other formulas and sentences refer to. */
export class FormulaLabels {
  readonly #formulas: MathsToken[] = []
  readonly #references: ReferenceToken[] = []

  add(formula: MathsToken): MathsToken {
    this.#formulas.push(formula)
    return formula
  }

  addReference(label: string): ReferenceToken {
    const reference: ReferenceToken = { type: 'reference', label, text: '' }
    this.#references.push(reference)
    return reference
  }

  /** Removes the labels, which the renderer does not know, and replaces the references to them. */
  resolve(): void {
    const numbers = new Map<string, string>()
    for (const formula of this.#formulas) {
      const number = /\\tag\*?\{([^{}]*)\}/.exec(formula.tex)?.[1]
      formula.tex = formula.tex.replace(/\s?\\label\{([^{}]*)\}/g, (_, label: string) => {
        if (number !== undefined) numbers.set(label, number)
        return ''
      })
    }
    const describe = (label: string) => `(${numbers.get(label) ?? label})`
    for (const formula of this.#formulas)
      formula.tex = formula.tex.replace(/\\(?:eq)?ref\{([^{}]*)\}/g, (_, label: string) => `\\text{${describe(label)}}`)
    for (const reference of this.#references) reference.text = describe(reference.label)
  }
}
