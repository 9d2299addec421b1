import { AI_USER_ID } from '../identity/user.ts'
import { type memberStates, RoomMember } from '../rooms/room-member.ts'
import { everyRowForAdmins, type SqlPredicate } from '../sql/scope.ts'

/** The caller, the AI user, and people of the caller's rooms. PostgreSQL evaluates the list once per statement. */
const findCompanions = (states: readonly (typeof memberStates)[number][]): SqlPredicate =>
  everyRowForAdmins((user, sql) => {
    const [own, other, members] = [sql.alias(), sql.alias(), RoomMember.tableName]
    const list = states.map((state) => `'${state}'`).join()
    const companions = `array(select ${other}.user_id from ${members} ${own} join ${members} ${other} using (room_id)
    where ${own}.user_id = ${sql.param('viewer')} and ${own}.state = 'member' and ${other}.state in (${list}))`
    return `(${user}.id in (${sql.param('viewer')}, ${AI_USER_ID}) or ${user}.id = any(${companions}))`
  })

/** The caller, the AI user, and the members of the caller's rooms. */
export const knownUsers = findCompanions(['member'])

/** Former members as well, whose messages stay with their name and picture. */
export const knownAuthors = findCompanions(['member', 'removed'])
