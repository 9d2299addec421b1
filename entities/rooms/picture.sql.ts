import { knownUsers } from '../identity/user.ts'
import { compile, type SqlPredicate } from '../sql/scope.ts'
import { visibleRooms } from './room.ts'

/** Finds whether the viewer sees a row whose picture has a storage key. */
const seen = (table: string, scope: SqlPredicate, unrestricted: boolean) =>
  compile<{ key: string }>(
    { unrestricted, plannedOnce: true },
    (sql) => `select p.avatar as key from ${table} p
      where p.avatar collate "C" = ${sql.valueOf('key')('text')} and p.avatar is not null and ${scope('p', sql)} limit 1`,
  )

/** By what a picture shows, and whether the viewer sees every row. */
export const seenPictures = {
  profile_avatars: { all: seen('users', knownUsers, true), scoped: seen('users', knownUsers, false) },
  room_avatars: { all: seen('rooms', visibleRooms, true), scoped: seen('rooms', visibleRooms, false) },
}
