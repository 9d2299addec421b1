import type { Viewer } from '../../entities/sql/scope.ts'
import type { Caller, Person } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { listBoundModels } from '../core/model-binding.ts'
import { isAdministrator } from '../core/trpc.ts'

/** Builds the statement parameters that describe the caller. */
export function toViewer({ callerContext: { current }, origin, usage, locale, services }: Context): Viewer {
  const viewer = current.type === 'user' ? current.person.id : 0
  const { defaultLocale, brand } = services.settings
  const groups = origin === 'host' ? null : listUsableGroups(current)
  return { viewer, usage, groups, models: listBoundModels(current), locale, defaultLocale, brand }
}

/**
 * Returns the caller's groups for access to models, sorted so that callers with equal groups share statements; null for
 * access to all.
 */
export function listUsableGroups(caller: Caller): readonly string[] | null {
  if (caller.type !== 'user') return []
  return isAdministrator(caller) ? null : sortGroups(caller.person)
}

/** Returns the groups of a person for access to models, as `listUsableGroups` does for a session of theirs. */
export const listGroupsOfPerson = (person: Pick<Person, 'groups' | 'role'>): readonly string[] | null =>
  person.role === 'admin' ? null : sortGroups(person)

const sortGroups = ({ groups }: Pick<Person, 'groups'>): readonly string[] => [...groups].sort()

/** Returns true if the caller sees every row. An administrator's token does not if it lacks the ability `write` or is bound to models. */
export function isUnrestricted({ callerContext: { current }, origin }: Context): boolean {
  if (current.type !== 'user') return origin === 'host'
  const { token } = current
  return (
    origin === 'host' ||
    (isAdministrator(current) && (!token || (token.abilities.includes('write') && token.models === undefined)))
  )
}
