import { t } from '../shared/text/labels.ts'
import { type Disclosure, type Member, relatedId } from './room.ts'

/** The name of a member; who was erased has none. */
export const memberName = ({ displayName, username }: Member): string =>
  displayName ?? username ?? t('app.rooms.somebody')

/** Who asked for an answer. */
export function askerOf({ user }: Pick<Disclosure, 'user'>, members: ReadonlyMap<string, Member>): string {
  const member = [...members.values()].find((each) => user !== null && relatedId(each, 'user') === user)
  return member ? memberName(member) : t('app.rooms.somebody')
}

/** People who are members, by name. */
export const peopleIn = (members: ReadonlyMap<string, Member>): Member[] =>
  [...members.values()]
    .filter(({ state, role }) => state === 'member' && role !== 'assistant')
    .toSorted((one, other) => memberName(one).localeCompare(memberName(other)))

export const invitedTo = (members: ReadonlyMap<string, Member>): Member[] =>
  [...members.values()].filter(({ state }) => state === 'invited')
