import type { ConnectStatus } from '../../entities/apps/ext-app.sql.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { normalizeAddress } from '../ports/web-address.ts'

/** One that is registered, as a whole; nobody is ever sent elsewhere. */
export function redirectTo(registered: readonly string[], wanted = registered[0] ?? ''): string {
  const address = normalizeAddress(wanted)
  const found = registered.find((one) => normalizeAddress(one) === address)
  if (found === undefined) throw new Problem('connect_request_invalid')
  return found
}

/** The same address with how the connection ended in its query. */
export const backUrl = ({ services }: Context, url: string, status: ConnectStatus): string =>
  `${url}${url.includes('?') ? '&' : '?'}${services.settings.brand}-connect-status=${status}`
