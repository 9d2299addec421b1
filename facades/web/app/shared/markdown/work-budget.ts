/** Steps of the parser for each character of a text, and for any text. Ordinary texts take a tenth of them. */
const [STEPS_PER_CHARACTER, BASE_STEPS] = [40, 5000]

/** The most elements of a text, as each costs the browser memory and time. */
const MAX_ELEMENTS = 20_000

/** The work that a text may cost is used up. */
export class BudgetExceeded extends Error {
  override readonly name = 'BudgetExceeded'
}

/** Counts the characters that the parser looks at and the elements that it makes; throws when a text costs too many. */
export class WorkBudget {
  readonly #maxSteps: number
  #steps = 0
  #elements = 0

  constructor(length: number) {
    this.#maxSteps = BASE_STEPS + STEPS_PER_CHARACTER * length
  }

  get steps(): number {
    return this.#steps
  }

  takeSteps(count: number): void {
    this.#steps += count
    if (this.#steps > this.#maxSteps) throw new BudgetExceeded()
  }

  takeElements(count: number): void {
    this.#elements += count
    if (this.#elements > MAX_ELEMENTS) throw new BudgetExceeded()
  }

  /** Counts a formula, of whose characters each fourth becomes elements. */
  takeFormula(tex: string): void {
    this.takeElements(Math.ceil(tex.length / 4))
  }
}
