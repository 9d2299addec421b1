import { statement, unboundedStatement } from '../sql/statement.ts'

/** The columns of a stored file. */
export interface FileRow {
  id: number
  /** Name of the file in the file store. */
  name: string
  bytes: number
  sealedKey: string
}

const fileColumns = 'id, uuid as name, bytes, sealed_key as "sealedKey"'

/** Lists files in the order of their names. Values: the name after which to continue, and the batch size. */
export const listFilesByName = unboundedStatement<FileRow>(
  `select ${fileColumns} from attachments where uuid > $1::uuid order by uuid limit $2`,
)

/** Finds existing files. Values: ids. */
export const findExistingFiles = unboundedStatement<{ id: number }>(
  'select id from attachments where id = any($1::int[])',
)

/** Lists files in the order of their ids. Values: the id after which to continue, and the batch size. */
export const listFilesById = unboundedStatement<FileRow>(
  `select ${fileColumns} from attachments where id > $1 order by id limit $2`,
)

/** Replaces sealed keys; returns those that were not changed meanwhile. Values: ids, old keys and new keys. */
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

/** Counts files by kind and state; `linked` files belong to messages. */
export const countFiles = unboundedStatement<FileCount & { kind: string; textState: string; linked: boolean }>(
  `select file_type as kind, text_state as "textState", 
       message_id is not null or conversation_message_id is not null as linked, ${countColumns}
     from attachments group by 1, 2, 3 order by 1, 2, 3`,
)

/** Lists people with the most bytes. Values: the limit. */
export const listLargestOwners = unboundedStatement<FileCount & { user: number }>(
  `select uploader_id as user, ${countColumns} from attachments group by 1 order by bytes desc, 1 limit $1`,
)

/** Sums expired files by room; files without a room are private. Values: months, and the limit. */
export const listExpiredByRoom = unboundedStatement<FileCount & { room: number | null; oldest: string }>(
  `select room_id as room, ${countColumns}, to_char(min(created_at) at time zone 'utc', 'YYYY-MM-DD') as oldest
     from attachments where created_at < now() - make_interval(months => $1)
    group by 1 order by bytes desc, 1 limit $2`,
)

/**
 * Lists the oldest expired files. Ids follow time, so only the first are examined. Values: months, and the batch size.
 */
export const listOldestExpired = unboundedStatement<{ id: number; room: number | null; uploader: number }>(
  `select id, room_id as room, uploader_id as uploader
     from (select id, room_id, uploader_id, created_at from attachments order by id limit $2) oldest
    where created_at < now() - make_interval(months => $1)`,
)

/** Locks rooms in one order, because changes of messages wait for their room. Values: ids of rooms. */
export const lockRooms = statement<never>(
  'lock-rooms',
  'select from rooms where id = any($1::int[]) order by id for no key update',
)

/** Lists pending texts. Values: the id after which to continue, and the batch size. */
export const listPendingTexts = unboundedStatement<{ id: number }>(
  `select id from attachments where id > $1 and text_state = 'pending' order by id limit $2`,
)
