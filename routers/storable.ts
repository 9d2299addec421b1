import { type Issue, Problem } from './problems.ts'

/** Throws where a text holds what PostgreSQL keeps in none: a zero, or half of a character. */
export function assertStorable(given: unknown): void {
  const issues = [...unstorable(given, [])]
  if (issues.length > 0) throw new Problem('invalid', { issues })
}

const isStorable = (text: string) => !text.includes('\0') && text.isWellFormed()

function* unstorable(value: unknown, path: Issue['path']): Generator<Issue> {
  const message = 'holds a character that cannot be kept'
  if (typeof value === 'string' && !isStorable(value)) yield { path, message }
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) {
    if (!isStorable(key)) yield { path, message }
    yield* unstorable(member, [...path, key])
  }
}
