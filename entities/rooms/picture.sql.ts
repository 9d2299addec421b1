import { knownUsers } from '../identity/user.ts'
import { compile, type SqlPredicate } from '../sql/scope.ts'
import { joinedRooms } from './room.ts'

/** Finds whether the viewer sees a row whose picture has a storage key. */
const seen = (table: string, scope: SqlPredicate, unrestricted: boolean) =>
  compile<{ key: string }>(
    { unrestricted, plannedOnce: true },
    (sql) => `select p.avatar as key from ${table} p
      where p.avatar collate "C" = ${sql.valueOf('key')('text')} and p.avatar is not null and ${scope('p', sql)} limit 1`,
  )

const ofJoinedRooms = seen('rooms', joinedRooms, false)

/** By what a picture shows, and whether the viewer sees every row: pictures of rooms are for members alone. */
export const seenPictures = {
  profile_avatars: { all: seen('users', knownUsers, true), scoped: seen('users', knownUsers, false) },
  room_avatars: { all: ofJoinedRooms, scoped: ofJoinedRooms },
}
