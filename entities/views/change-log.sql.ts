import { describeChanges } from '../events/change-log.sql.ts'
import { ChangeLogEntry, ChangeStream } from '../events/change-log.ts'
import { User } from '../identity/user.ts'
import { Room } from '../rooms/room.ts'
import { statusOfAnswer } from '../rooms/room-disclosure.sql.ts'
import { numberOfMessage } from '../rooms/room-message.sql.ts'
import { statement } from '../sql/statement.ts'

export const { recordChanges, findChangesOfStreams } = describeChanges({
  number: numberOfMessage,
  status: statusOfAnswer,
})

/** Deletes streams of deleted rooms and people that have no rows left. The streams `all` and `admins` are permanent. */
export const deleteEndedStreams = statement<never>(
  'delete-ended-streams',
  `delete from ${ChangeStream.tableName} s
    where s.stream not in ('all', 'admins') and not exists (select from ${Room.tableName} where s.stream = 'room:' || id)
      and not exists (select from ${User.tableName} where s.stream = 'user:' || id)
      and not exists (select from ${ChangeLogEntry.tableName} l where l.stream = s.stream)`,
)
