import { type Json, short } from './json.ts'

/** A finding, with the route or member where it was seen. */
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

/** Tries each one and reports all failures; not applicable if there is none. */
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

/** The parts of an answer that tell a refusal. */
interface Status {
  at: string
  status: number
  body: Json | undefined
}

export function demandStatus({ at, status, body }: Status, ...allowed: number[]): void {
  const wanted = allowed.join(' or ')
  demand(allowed.includes(status), at, `status ${status}, not ${wanted}${status < 400 ? '' : ` ${short(body)}`}`)
}

export function demandRefusal({ at, status }: Status): void {
  demand(status >= 400 && status < 500, at, `status ${status}, not a refusal`)
}

export function demandEqual(seen: unknown, wanted: unknown, at: string, what: string): void {
  demand(JSON.stringify(seen) === JSON.stringify(wanted), at, `${what} is ${short(seen)}, not ${short(wanted)}`)
}
