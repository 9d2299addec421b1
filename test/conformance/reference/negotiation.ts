import type { IncomingHttpHeaders } from 'node:http'
import { MEDIA_TYPE, mediaTypeParameter } from '../media-type.ts'
import type { Broken } from './breakages.ts'
import { Refusal } from './refusal.ts'

export const EXTENSIONS = ['https://example.org/ext/stamp', 'https://example.org/ext/badge']
export const PROFILES = ['https://example.org/profiles/plain', 'https://example.org/profiles/terse']

export interface Applied {
  ext: string[]
  profile: string[]
}

const isJsonApi = (range: string) => range.split(';')[0]?.trim() === MEDIA_TYPE

/** No parameter but ext and profile, and no unknown extension. */
function isFit(range: string): boolean {
  const names = [...range.matchAll(/;\s*([\w-]+)=/g)].map(([, name]) => name)
  const isKnown = mediaTypeParameter(range, 'ext').every((uri) => EXTENSIONS.includes(uri))
  return isKnown && names.every((name) => name === 'ext' || name === 'profile' || name === 'q')
}

/** Returns the extensions that the client requests; throws where it accepts nothing that the server sends. */
export function negotiate(
  { accept = '*/*', 'content-type': sent = '' }: IncomingHttpHeaders,
  hasBody: boolean,
  broken: Broken,
): Applied {
  const isWrong = hasBody && !(isJsonApi(sent) && isFit(sent))
  if (isWrong && !broken('no-415')) throw new Refusal(415, 'unsupported_media_type', { header: 'Content-Type' })
  const fit = fitRanges(accept, broken)
  const wanted = (name: 'ext' | 'profile', known: string[]) =>
    fit
      .flatMap((range) => mediaTypeParameter(range, name).slice(0, broken('first-of-list') ? 1 : undefined))
      .filter((uri) => known.includes(uri))
  const ext = broken('extension-unasked') ? EXTENSIONS : wanted('ext', EXTENSIONS)
  return { ext, profile: wanted('profile', PROFILES) }
}

function fitRanges(accept: string, broken: Broken): string[] {
  const ranges = accept.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/).filter(isJsonApi)
  const fit = ranges.filter(isFit)
  const isRefused = broken('eager-406') ? fit.length < ranges.length : ranges.length > 0 && fit.length === 0
  if (isRefused && !broken('no-406')) throw new Refusal(406, 'not_acceptable', { header: 'Accept' })
  return fit
}

export function contentType({ ext, profile }: Applied, broken: Broken): string {
  if (broken('plain-json')) return 'application/json'
  const named = { ext: broken('extension-not-echoed') ? [] : ext, profile }
  const lists = Object.entries(named).filter(([, uris]) => uris.length > 0)
  return [MEDIA_TYPE, ...lists.map(([name, uris]) => `${name}="${uris.join(broken('comma-lists') ? ',' : ' ')}"`)].join(
    '; ',
  )
}
