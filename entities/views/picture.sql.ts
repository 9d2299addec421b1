import { reviewedVersions, visibleVersions } from '../assistants/assistant-scope.ts'
import { AssistantVersion } from '../assistants/assistant-version.ts'
import { User } from '../identity/user.ts'
import { joinedRooms, Room } from '../rooms/room.ts'
import { compile, type SqlPredicate } from '../sql/scope.ts'
import { unboundedStatement } from '../sql/statement.ts'
import { knownAuthors } from './known-users.ts'

const tables = [User.tableName, Room.tableName, AssistantVersion.tableName]

/** A row that has a picture. */
export interface PictureRow {
  /** The storage key of the picture. */
  name: string
  table: string
  id: number
}

const selectFollowing = (table: string) =>
  `(select avatar as name, '${table}' as table, min(id) as id from ${table}
     where avatar is not null and avatar collate "C" > $1 group by avatar order by avatar collate "C" limit $2)`

/** Lists pictures in the order of their keys, once each: versions of an assistant share one. Values: the key after which to continue, and the batch size. */
export const listPicturesByKey = unboundedStatement<PictureRow>(
  `select name, "table", id from (${tables.map(selectFollowing).join(' union all ')}) rows order by name collate "C" limit $2`,
)

const selectByKeys = (table: string) =>
  `select avatar as name, '${table}' as table, id from ${table}
    where avatar is not null and avatar collate "C" = any($1::text[])`

/** Finds rows that still have a picture. Values: keys. */
export const findExistingPictures = unboundedStatement<PictureRow>(tables.map(selectByKeys).join(' union all '))

const isUnreferenced = (table: string) =>
  `not exists (select from ${table} p where p.avatar is not null and p.avatar collate "C" = file.name)`

/** Selects keys without a row. Values: keys. */
export const findOrphanedPictures = unboundedStatement<{ name: string }>(
  `select file.name from unnest($1::text[]) file (name) where ${tables.map(isUnreferenced).join(' and ')}`,
)

const countRows = (table: string) => `(select count(*)::float8 from ${table} where avatar is not null)`

/** Counts people, rooms and versions of assistants with a picture. */
export const countPictures = unboundedStatement<{ people: number; rooms: number; assistantVersions: number }>(
  `select ${countRows(User.tableName)} as people, ${countRows(Room.tableName)} as rooms,
          ${countRows(AssistantVersion.tableName)} as "assistantVersions"`,
)

/** Compiles a statement that tells if the viewer sees a row with a picture. */
const compileVisiblePicture = (table: string, scope: SqlPredicate, isUnrestricted: boolean) =>
  compile<{ key: string }>(
    { isUnrestricted, plannedOnce: true },
    (sql) => `select p.avatar as key from ${table} p
      where p.avatar collate "C" = ${sql.bindFilter('key')('text')} and p.avatar is not null and ${scope('p', sql)} limit 1`,
  )

const roomPictures = compileVisiblePicture(Room.tableName, joinedRooms, false)

/**
 * Statements by category of the picture, and by whether the viewer sees every row. Pictures of people are visible to those
 * who see their messages, pictures of rooms to members, and those of assistants to whoever may use or review them.
 */
export const visiblePictures = {
  profile_avatars: {
    all: compileVisiblePicture(User.tableName, knownAuthors, true),
    scoped: compileVisiblePicture(User.tableName, knownAuthors, false),
  },
  room_avatars: { all: roomPictures, scoped: roomPictures },
  assistant_avatars: {
    all: compileVisiblePicture(
      AssistantVersion.tableName,
      (row, sql) => `(${visibleVersions(row, sql)} or ${reviewedVersions(row, sql)})`,
      true,
    ),
    scoped: compileVisiblePicture(AssistantVersion.tableName, visibleVersions, false),
  },
}
