import type { Viewer } from '../../entities/sql/scope.ts'
import type { Context } from '../core/context.ts'
import { isAdministrator } from '../core/trpc.ts'

/** What the statements may know of a caller. */
export function toViewer({ callerContext: { current }, usage, locale, services: { settings } }: Context): Viewer {
  const viewer = current.type === 'user' ? current.person.id : 0
  const { defaultLocale, brand } = settings
  return { viewer, usage, locale, defaultLocale, brand }
}

/** Whether the caller sees every row. An administrator who calls by a token that cannot write sees what others see. */
export function seesAll({ callerContext: { current }, origin }: Context): boolean {
  if (current.type !== 'user') return origin === 'host'
  const { token } = current
  return origin === 'host' || (isAdministrator(current) && (!token || token.abilities.includes('write')))
}
