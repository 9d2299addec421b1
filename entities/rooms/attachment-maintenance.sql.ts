import { statement, unboundedStatement } from '../sql/statement.ts'

/** The row of a file, as far as the file is concerned. */
export interface FileRow {
  id: number
  /** Of the file. */
  name: string
  bytes: number
  sealedKey: string
}

const fileColumns = 'id, uuid as name, bytes, sealed_key as "sealedKey"'

/** Values: a name, and how many at most. Those whose names follow, in the order of the names. */
export const listFilesByName = unboundedStatement<FileRow>(
  `select ${fileColumns} from attachments where uuid > $1::uuid order by uuid limit $2`,
)

/** Values: ids. Those that are still there. */
export const findExistingFiles = unboundedStatement<{ id: number }>(
  'select id from attachments where id = any($1::int[])',
)

/** Values: an id, and how many at most. Those that follow, in the order of the ids. */
export const listFilesById = unboundedStatement<FileRow>(
  `select ${fileColumns} from attachments where id > $1 order by id limit $2`,
)

/** Values: ids, the keys as they were read, and the same sealed anew. Returns those that nobody has changed since. */
export const replaceSealedKeys = unboundedStatement<{ id: number }>(
  `update attachments a set sealed_key = renewed.key
     from unnest($1::int[], $2::text[], $3::text[]) as renewed (id, before, key)
    where a.id = renewed.id and a.sealed_key = renewed.before returning a.id`,
)

export interface FileCount {
  files: number
  bytes: number
}

const countColumns = 'count(*)::float8 as files, coalesce(sum(bytes), 0)::float8 as bytes'

/** Each kind and state with its files; `linked` are those of messages. */
export const countFiles = unboundedStatement<FileCount & { kind: string; textState: string; linked: boolean }>(
  `select file_type as kind, text_state as "textState", 
       message_id is not null or conversation_message_id is not null as linked, ${countColumns}
     from attachments group by 1, 2, 3 order by 1, 2, 3`,
)

/** Values: how many at most. Those who keep most bytes, by their ids. */
export const listLargestOwners = unboundedStatement<FileCount & { user: number }>(
  `select uploader_id as user, ${countColumns} from attachments group by 1 order by bytes desc, 1 limit $1`,
)

/** Values: a number of months, and how many rooms at most. What is older, by room; those without one are private. */
export const listExpiredByRoom = unboundedStatement<FileCount & { room: number | null; oldest: string }>(
  `select room_id as room, ${countColumns}, to_char(min(created_at) at time zone 'utc', 'YYYY-MM-DD') as oldest
     from attachments where created_at < now() - make_interval(months => $1)
    group by 1 order by bytes desc, 1 limit $2`,
)

/**
 * Values: a number of months, and how many at most. The first by their ids, as far as they are older: ids are given in the order
 * of time, so that the others need not be looked at.
 */
export const listOldestExpired = unboundedStatement<{ id: number; room: number | null; uploader: number }>(
  `select id, room_id as room, uploader_id as uploader
     from (select id, room_id, uploader_id, created_at from attachments order by id limit $2) oldest
    where created_at < now() - make_interval(months => $1)`,
)

/** Values: ids of rooms. Locks them in one order for all: whoever changes a message waits for its room. */
export const lockRooms = statement<never>(
  'lock-rooms',
  'select from rooms where id = any($1::int[]) order by id for no key update',
)

/** Values: an id, and how many at most. Those that follow whose text is still to be read. */
export const listPendingTexts = unboundedStatement<{ id: number }>(
  `select id from attachments where id > $1 and text_state = 'pending' order by id limit $2`,
)
