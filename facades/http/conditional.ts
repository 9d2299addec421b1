import { hash } from 'node:crypto'
import { Problem } from '../../routers/core/problems.ts'

/** Creates a strong entity tag: a hash of the bytes, preceded by the row version if the response is one row. */
export function createEntityTag(payload: string | Buffer, version?: string): string {
  const digest = hash('sha1', payload, 'base64url')
  return version ? `"${version}.${digest}"` : `"${digest}"`
}

const parseTags = (header: string) => header.split(',').map((tag) => tag.trim())

/** Returns true if `If-None-Match` lists the tag. */
export const matchesIfNoneMatch = (ifNoneMatch: string | undefined, tag = '') =>
  ifNoneMatch !== undefined &&
  (ifNoneMatch.trim() === '*' || parseTags(ifNoneMatch).some((known) => known.replace(/^W\//, '') === tag))

/** Parses the row versions of `If-Match`; throws if there are none. Weak tags do not count. */
export function parseIfMatchVersions(ifMatch: string | undefined): string[] | undefined {
  if (ifMatch === undefined || ifMatch.trim() === '*') return undefined
  const versions = parseTags(ifMatch).flatMap((tag) => /^"(\d{1,10})\.[\w-]+"$/.exec(tag)?.[1] ?? [])
  if (versions.length === 0) throw new Problem('precondition_failed')
  return versions
}

/** Returns true if `If-Match` lists the tag; a weak tag never matches. */
export const matchesIfMatch = (ifMatch: string, tag: string) =>
  ifMatch.trim() === '*' || parseTags(ifMatch).includes(tag)
