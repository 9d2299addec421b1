import { hash } from 'node:crypto'
import { Problem } from '../../routers/problems.ts'

/** Stands for exactly these bytes; in front of it stands the version of the row, where the answer is one. */
export function entityTag(payload: string, version?: string): string {
  const print = hash('sha1', payload, 'base64url')
  return version ? `"${version}.${print}"` : `"${print}"`
}

const listed = (header: string) => header.split(',').map((tag) => tag.trim().replace(/^W\//, ''))

/** Whether the client has these bytes already. */
export const isKnown = (ifNoneMatch: string | undefined, tag = '') =>
  ifNoneMatch !== undefined && (ifNoneMatch.trim() === '*' || listed(ifNoneMatch).includes(tag))

/** The version a write insists on; throws where none can be meant. */
export function insistedVersion(ifMatch: string | undefined): string | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined
  const [version] = listed(ifMatch).flatMap((tag) => /^"(\d+)\./.exec(tag)?.[1] ?? [])
  if (!version) throw new Problem('precondition_failed')
  return version
}
