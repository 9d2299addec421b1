import { AI_USER_ID } from '../identity/user.ts'
import { RoomMember } from '../rooms/room-member.ts'
import { everyRowForAdmins } from '../sql/scope.ts'

/** The caller, the AI user, and the members of the caller's rooms. PostgreSQL evaluates the list once per statement. */
export const knownUsers = everyRowForAdmins((user, sql) => {
  const [own, other, members] = [sql.alias(), sql.alias(), RoomMember.tableName]
  const companions = `array(select ${other}.user_id from ${members} ${own} join ${members} ${other} using (room_id)
    where ${own}.user_id = ${sql.param('viewer')} and ${own}.state = 'member' and ${other}.state = 'member')`
  return `(${user}.id in (${sql.param('viewer')}, ${AI_USER_ID}) or ${user}.id = any(${companions}))`
})
