import type { Log } from '../../routers/ports/log.ts'
import { type Identity, identity } from '../../routers/ports/login.ts'

/** Validates what a login source says of a person. If it is invalid, the log gets the names of the fields, never the values. */
export function parseIdentity(source: string, told: unknown, log: Log): Identity | undefined {
  const parsed = identity.safeParse(told)
  if (parsed.success) return parsed.data
  const fields = parsed.error.issues.map(({ path }) => path.join('.'))
  log.warn({ source, fields }, 'a login source told of a person what cannot be used')
  return undefined
}
