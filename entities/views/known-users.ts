import { AI_USER_ID } from '../identity/user.ts'
import { RoomMember } from '../rooms/room-member.ts'
import { isFormerAuthor } from '../rooms/room-message.ts'
import { everyRowForAdmins, type SqlPredicate } from '../sql/scope.ts'

/**
 * The caller, the AI user, and those of the caller's rooms whose row meets the condition. PostgreSQL evaluates the list
 * once per statement.
 */
const findCompanions = (isCompanion: SqlPredicate): SqlPredicate =>
  everyRowForAdmins((user, sql) => {
    const [own, other, members] = [sql.alias(), sql.alias(), RoomMember.tableName]
    const companions = `array(select ${other}.user_id from ${members} ${own} join ${members} ${other} using (room_id)
    where ${own}.user_id = ${sql.param('viewer')} and ${own}.state = 'member' and ${isCompanion(other, sql)})`
    return `(${user}.id in (${sql.param('viewer')}, ${AI_USER_ID}) or ${user}.id = any(${companions}))`
  })

const isMember: SqlPredicate = (member) => `${member}.state = 'member'`

/** The caller, the AI user, and the members of the caller's rooms. */
export const knownUsers = findCompanions(isMember)

/** Former members as well whose messages stay, with their name and picture. */
export const knownAuthors = findCompanions(
  (member, sql) => `(${isMember(member, sql)} or ${isFormerAuthor(member, sql)})`,
)
