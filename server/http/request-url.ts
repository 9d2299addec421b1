import { Problem } from '../../routers/core/problems.ts'

/** More than any address takes. */
const MAX_PARAMETERS = 100

/** A path that cannot be decoded is taken literally: nothing exists there, and the facade of that path answers 404. */
export function readable(url: string): string {
  if (!url.includes('%')) return url
  const [path = '', search] = url.split(/(\?.*)/s)
  try {
    decodeURIComponent(path)
    return url
  } catch {
    return `${path.replaceAll('%', '%25')}${search ?? ''}`
  }
}

export function assertFewParameters(url: string): void {
  if (url.split('&', MAX_PARAMETERS + 1).length <= MAX_PARAMETERS) return
  throw new Problem('invalid_query', { detail: `There are more than ${MAX_PARAMETERS} query parameters.` })
}
