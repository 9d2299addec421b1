import type { ConnectStatus } from '../../entities/apps/ext-app.sql.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'

/** One that is registered, letter by letter; nobody is ever sent elsewhere. */
export function redirectTo([first = '', ...others]: readonly string[], wanted = first): string {
  if (wanted !== first && !others.includes(wanted)) throw new Problem('connect_request_invalid')
  return wanted
}

/** The same address with how the connection ended in its query. */
export const backUrl = ({ services }: Context, url: string, status: ConnectStatus): string =>
  `${url}${url.includes('?') ? '&' : '?'}${services.settings.brand}-connect-status=${status}`
