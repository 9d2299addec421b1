import { creating } from './chapters/creating.ts'
import { deleting } from './chapters/deleting.ts'
import { links } from './chapters/document-links.ts'
import { relationshipObjects } from './chapters/document-relationships.ts'
import { resourceObjects } from './chapters/document-resources.ts'
import { topLevel } from './chapters/document-top-level.ts'
import { errors } from './chapters/errors.ts'
import { extensions } from './chapters/extensions.ts'
import { including } from './chapters/including.ts'
import { names } from './chapters/names.ts'
import { negotiation } from './chapters/negotiation.ts'
import { paging } from './chapters/paging.ts'
import { queryParameters } from './chapters/query-parameters.ts'
import { reading } from './chapters/reading.ts'
import { relationships } from './chapters/relationships.ts'
import { sorting } from './chapters/sorting.ts'
import { sparseFieldsets } from './chapters/sparse-fieldsets.ts'
import { updating } from './chapters/updating.ts'
import { Failure, type Finding, NotApplicable } from './check.ts'
import { exceptions, type NamedException } from './exceptions.ts'
import type { Obligation } from './obligation.ts'
import type { ServerDescription } from './server-description.ts'
import { type TargetOptions, TargetServer } from './target.ts'

const requests = [
  reading,
  including,
  sparseFieldsets,
  sorting,
  paging,
  creating,
  updating,
  relationships,
  deleting,
  queryParameters,
]
/** These look at every answer that the others brought, and so come last. */
const answers = [negotiation, extensions, topLevel, resourceObjects, relationshipObjects, links, names, errors]

export const obligations: Obligation[] = [...requests, ...answers].flat()

export type State = 'passed' | 'not applicable' | 'skipped' | 'named exception' | 'failed'

export interface Result extends Omit<Obligation, 'check'> {
  state: State
  /** Why it is not applicable, skipped, or an exception. */
  why: string
  findings: Finding[]
}

/** Holds a server to its obligations, one after the other, and removes what was made for it. */
export async function runSuite(options: TargetOptions, held: Obligation[] = obligations): Promise<Result[]> {
  const skip = skippedBy(options.description)
  const server = await TargetServer.connect(options)
  const results: Result[] = []
  try {
    await server.prepare()
    for (const obligation of held) results.push(skip(obligation) ?? (await judge(obligation, server)))
  } finally {
    const left = await server.cleanUp()
    if (left.length > 0) options.onLeftBehind?.(left)
  }
  return results
}

/** The result of an obligation that a description leaves out, by its own name or by that of its chapter. */
function skippedBy(description: ServerDescription | undefined) {
  const rules = description?.skip ?? []
  const isFor = (rule: string, id: string) => id === rule || id.startsWith(`${rule}.`)
  const unknown = rules.find(({ rule }) => !obligations.some(({ id }) => isFor(rule, id)))
  if (unknown) throw new Error(`The description skips "${unknown.rule}", which is neither a rule nor a chapter.`)
  return ({ check: _, ...obligation }: Obligation): Result | undefined => {
    const found = rules.find(({ rule }) => isFor(rule, obligation.id))
    return found && { ...obligation, state: 'skipped', why: found.reason, findings: [] }
  }
}

async function judge({ check, ...obligation }: Obligation, server: TargetServer): Promise<Result> {
  try {
    await check(server)
    return { ...obligation, state: 'passed', why: '', findings: [] }
  } catch (cause) {
    if (cause instanceof NotApplicable)
      return { ...obligation, state: 'not applicable', why: cause.message, findings: [] }
    const findings = cause instanceof Failure ? cause.findings : [{ at: 'the check itself', seen: String(cause) }]
    return { ...obligation, ...excuse(obligation.id, findings) }
  }
}

/** A failure is an exception only where every finding is one. */
function excuse(id: string, findings: Finding[]): Pick<Result, 'state' | 'why' | 'findings'> {
  const named = (finding: Finding): NamedException | undefined =>
    exceptions.find(({ obligation, at }) => obligation === id && at.test(finding.at))
  const others = findings.filter((finding) => !named(finding))
  if (others.length > 0) return { state: 'failed', why: '', findings: others }
  const reasons = new Set(findings.map((finding) => named(finding)?.reason ?? ''))
  return { state: 'named exception', why: [...reasons].join(' '), findings }
}

export const failsMust = ({ state, level }: Result) => state === 'failed' && level === 'MUST'
