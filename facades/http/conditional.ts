import { hash } from 'node:crypto'
import { Problem } from '../../routers/core/problems.ts'

/** A strong entity tag: a hash of the bytes, preceded by the row's version if the answer is one row. */
export function createEntityTag(payload: string | Buffer, version?: string): string {
  const digest = hash('sha1', payload, 'base64url')
  return version ? `"${version}.${digest}"` : `"${digest}"`
}

const parseTags = (header: string) => header.split(',').map((tag) => tag.trim())

/** Whether the client has these bytes already. */
export const matchesIfNoneMatch = (ifNoneMatch: string | undefined, tag = '') =>
  ifNoneMatch !== undefined &&
  (ifNoneMatch.trim() === '*' || parseTags(ifNoneMatch).some((known) => known.replace(/^W\//, '') === tag))

/** The versions of a row, one of which a write insists on; throws where none can be meant. A weak tag is not enough. */
export function parseIfMatchVersions(ifMatch: string | undefined): string[] | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined
  const versions = parseTags(ifMatch).flatMap((tag) => /^"(\d{1,10})\.[\w-]+"$/.exec(tag)?.[1] ?? [])
  if (versions.length === 0) throw new Problem('precondition_failed')
  return versions
}

/** Whether `If-Match` lists a tag; a weak one never matches. */
export const matchesIfMatch = (ifMatch: string, tag: string) =>
  ifMatch.trim() === '*' || parseTags(ifMatch).includes(tag)
