import type { Issue } from '../core/problems.ts'
import type { Resource } from '../resource/declare.ts'
import type { Change } from '../verbs/write.ts'

type Addresses = Record<string, string | null | undefined>

/**
 * A stored secret goes nowhere but to the servers that it was given for. A change that leads elsewhere must give it
 * again: else who may write it, but not read it, could have it sent to a server of their own. `addresses` are those that
 * a row sends its secrets to, by the member that says so.
 */
export const secretsStay = ({ attributes }: Resource, addresses: (row: Record<string, unknown>) => Addresses) => {
  const secrets = Object.keys(attributes).filter((name) => attributes[name]?.sealed)
  return (row: Record<string, unknown>, change: Change | undefined): Issue[] => {
    const kept = secrets.filter((name) => change?.before[name] && change.given[name] === undefined)
    if (!change || kept.length === 0) return []
    const message = `leads to another server: give ${kept.join(' and ')} again, or null for none`
    return leadingElsewhere(addresses(change.before), addresses(row)).map((name) => ({ path: [name], message }))
  }
}

/** The names of those addresses that are on a server that none of the former was on. */
export function leadingElsewhere(before: Addresses, after: Addresses): string[] {
  const known = new Set(Object.values(before).map(originOf))
  return Object.keys(after).filter((name) => after[name] && !known.has(originOf(after[name])))
}

/** What is no address of the web, such as a command, stands for itself. */
function originOf(address: string | null | undefined): string | undefined {
  const { origin = 'null' } = URL.parse(address ?? '') ?? {}
  return origin === 'null' ? (address ?? undefined) : origin
}
