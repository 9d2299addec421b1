import type { Viewer } from '../../entities/sql/scope.ts'
import type { Caller } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { isAdministrator } from '../core/trpc.ts'

/** What the statements may know of a caller. */
export function toViewer({ callerContext: { current }, origin, usage, locale, services }: Context): Viewer {
  const viewer = current.type === 'user' ? current.person.id : 0
  const { defaultLocale, brand } = services.settings
  const groups = origin === 'host' ? null : listUsableGroups(current)
  return { viewer, usage, groups, locale, defaultLocale, brand }
}

/** The groups whose models a caller may use, in one order, so that people of the same groups share statements; null where that is all. */
export function listUsableGroups(caller: Caller): readonly string[] | null {
  if (caller.type !== 'user') return []
  return isAdministrator(caller) ? null : [...caller.person.groups].sort()
}

/** Whether the caller sees every row. An administrator who calls by a token that cannot write sees what others see. */
export function isUnrestricted({ callerContext: { current }, origin }: Context): boolean {
  if (current.type !== 'user') return origin === 'host'
  const { token } = current
  return origin === 'host' || (isAdministrator(current) && (!token || token.abilities.includes('write')))
}
