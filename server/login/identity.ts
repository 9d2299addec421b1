import type { Log } from '../../routers/ports/log.ts'
import { type Identity, identity } from '../../routers/ports/login.ts'

/** What a source tells of a person, unless it is rubbish; the log then has the places, never the values. */
export function parseIdentity(source: string, told: unknown, log: Log): Identity | undefined {
  const parsed = identity.safeParse(told)
  if (parsed.success) return parsed.data
  const fields = parsed.error.issues.map(({ path }) => path.join('.'))
  log.warn({ source, fields }, 'a login source told of a person what cannot be used')
  return undefined
}
