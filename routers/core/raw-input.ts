import { type Issue, MAX_ISSUES, Problem } from './problems.ts'

const MAX_DEPTH = 50
/** Members of one object; the widest useful one, a map of headers, has a few dozen. */
const MAX_MEMBERS = 200
const MAX_NAME_LENGTH = 200

/**
 * Checks an input before its schema does, for every procedure: objects must be small and shallow, and texts storable.
 * Lists are counted by their schemas before their elements are checked.
 */
export function assertRawInput(input: unknown): void {
  const inspection = new Inspection()
  inspection.visit(input)
  if (inspection.issues.length > 0) throw new Problem('invalid', { issues: inspection.issues })
}

class Inspection {
  readonly issues: Issue[] = []
  readonly #path: (string | number)[] = []

  visit(value: unknown): void {
    if (typeof value === 'string') this.#text(value)
    if (typeof value !== 'object' || value === null || this.issues.length >= MAX_ISSUES) return
    if (this.#path.length >= MAX_DEPTH) this.#report('is nested too deeply')
    else if (Array.isArray(value)) for (const [index, element] of value.entries()) this.#step(index, element)
    else this.#members(Object.entries(value))
  }

  #members(members: [string, unknown][]): void {
    if (members.length > MAX_MEMBERS) this.#report(`must have at most ${MAX_MEMBERS} members`)
    for (const [name, member] of members.slice(0, MAX_MEMBERS)) {
      if (name.length > MAX_NAME_LENGTH) this.#report(`must have names of at most ${MAX_NAME_LENGTH} characters`)
      else this.#text(name)
      this.#step(name, member)
    }
  }

  #step(name: string | number, value: unknown): void {
    this.#path.push(name)
    this.visit(value)
    this.#path.pop()
  }

  /** PostgreSQL stores neither a NUL character nor half of a surrogate pair. */
  #text(text: string): void {
    if (text.includes('\0')) this.#report('must not contain a NUL character')
    else if (!text.isWellFormed()) this.#report('must not contain half of a surrogate pair')
  }

  #report(message: string): void {
    this.issues.push({ path: [...this.#path], message })
  }
}
