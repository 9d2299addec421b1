import type { Answer } from './client.ts'
import { short } from './json.ts'
import type { TargetServer } from './target.ts'

export type Level = 'MUST' | 'SHOULD' | 'MAY'

export interface Obligation {
  id: string
  level: Level
  /** The section of the standard, with lines of its source text. */
  source: string
  says: string
  /** Returns where the obligation holds, and throws a Failure or NotApplicable where not. */
  check(server: TargetServer): Promise<void>
}

/** What was seen, and on which route or member. */
export interface Finding {
  at: string
  seen: string
}

export class Failure extends Error {
  readonly findings: Finding[]

  constructor(findings: Finding[]) {
    super(findings.map(({ at, seen }) => `${at}: ${seen}`).join('; '))
    this.findings = findings
  }
}

export class NotApplicable extends Error {}

/** The words in which the obligations of one chapter are written. */
export function chapter(name: string) {
  const at =
    (level: Level) =>
    (id: string, source: string, says: string, check: Obligation['check']): Obligation => ({
      id: `${name}.${id}`,
      level,
      source: `jsonapi 1.1 ${source}`,
      says,
      check,
    })
  return { must: at('MUST'), should: at('SHOULD'), may: at('MAY') }
}

/** Tries each one and tells all that failed; not applicable where there was none to try. */
export async function each<T>(items: Iterable<T>, none: string, check: (item: T) => unknown): Promise<void> {
  const outcomes: (Failure | NotApplicable | undefined)[] = []
  for (const item of items) outcomes.push(await outcomeOf(() => check(item)))
  refuse(outcomes.flatMap((it) => (it instanceof Failure ? it.findings : [])))
  if (!outcomes.includes(undefined)) throw new NotApplicable(outcomes.at(-1)?.message ?? none)
}

async function outcomeOf(check: () => unknown): Promise<Failure | NotApplicable | undefined> {
  try {
    await check()
    return undefined
  } catch (cause) {
    if (cause instanceof Failure || cause instanceof NotApplicable) return cause
    throw cause
  }
}

export function refuse(findings: Finding[]): void {
  const distinct = new Map(findings.map((finding) => [`${finding.at} ${finding.seen}`, finding]))
  if (distinct.size) throw new Failure([...distinct.values()])
}

export function demand(holds: boolean, at: string, seen: string): asserts holds {
  if (!holds) throw new Failure([{ at, seen }])
}

export function applies(holds: boolean, why: string): asserts holds {
  if (!holds) throw new NotApplicable(why)
}

export function demandStatus({ at, status, body }: Answer, ...allowed: number[]): void {
  const wanted = allowed.join(' or ')
  demand(allowed.includes(status), at, `status ${status}, not ${wanted}${status < 400 ? '' : ` ${short(body)}`}`)
}

export function demandRefusal({ at, status }: Answer): void {
  demand(status >= 400 && status < 500, at, `status ${status}, not a refusal`)
}

export function demandEqual(seen: unknown, wanted: unknown, at: string, what: string): void {
  demand(JSON.stringify(seen) === JSON.stringify(wanted), at, `${what} is ${short(seen)}, not ${short(wanted)}`)
}
