import { isoTime, statement } from '../sql/statement.ts'
import type { ExportState } from './person-export.ts'

/** An export as its person sees it. */
export interface OwnExport {
  id: number
  state: ExportState
  requestedAt: string
  endedAt: string | null
  expiresAt: string
  bytes: number | null
}

const exportColumns = `id, state, ${isoTime('requested_at')} as "requestedAt", ${isoTime('ended_at')} as "endedAt",
       ${isoTime('expires_at')} as "expiresAt", bytes::float8 as bytes`

/** Selects the latest export. Values: the person's id. */
export const lastExport = statement<OwnExport>(
  'last-export',
  `select ${exportColumns} from person_exports where user_id = $1 and expires_at > now() order by id desc limit 1`,
)

/** Counts exports; the caller must have locked the person's row. Values: the person's id. */
export const countExports = statement<{ waiting: number; today: number }>(
  'count-exports',
  `select count(*) filter (where state = 'waiting')::int as waiting,
          count(*) filter (where requested_at > now() - interval '1 day')::int as today
     from person_exports where user_id = $1`,
)

/** Adds an export. Values: the person's id, and the hours for which it is kept. */
export const addExport = statement<OwnExport>(
  'add-export',
  `insert into person_exports (user_id, expires_at) values ($1, now() + make_interval(hours => $2::int)) returning ${exportColumns}`,
)

/** Finds the person of an export that is not made yet. Values: the export's id. */
export const findWaitingExport = statement<{ userId: number }>(
  'find-waiting-export',
  `select user_id as "userId" from person_exports where id = $1 and state = 'waiting'`,
)

/**
 * Completes an export. Values: its id, the name, size and sealed key of the archive, and the hours for which it is kept
 * from now on.
 */
export const completeExport = statement<{ id: number }>(
  'complete-export',
  `update person_exports
      set state = 'ready', ended_at = now(), file = $2, bytes = $3, sealed_key = $4, expires_at = now() + make_interval(hours => $5::int)
    where id = $1 and state = 'waiting' returning id`,
)

/** Values: an export's id. */
export const failExport = statement<never>(
  'fail-export',
  `update person_exports set state = 'failed', ended_at = now() where id = $1 and state = 'waiting'`,
)

interface ExportFile {
  file: string
  bytes: number
  sealedKey: string
  endedAt: string
}

/** Finds the archive of a person's own export. Values: the ids of the export and of the person. */
export const findExportFile = statement<ExportFile>(
  'find-export-file',
  `select file, bytes::float8 as bytes, sealed_key as "sealedKey", ${isoTime('ended_at')} as "endedAt"
     from person_exports where id = $1 and user_id = $2 and state = 'ready' and expires_at > now()`,
)

/** Values: how many at most. */
export const deleteExpiredExports = statement<{ file: string | null }>(
  'delete-expired-exports',
  `delete from person_exports where id in (select id from person_exports where expires_at <= now() order by id limit $1)
   returning file`,
)

/** Values: a person's id. */
export const deleteExportsOfUser = statement<{ file: string | null }>(
  'delete-exports-of',
  'delete from person_exports where user_id = $1 returning file',
)

/** Lists sealed keys of archives; there are few, because archives expire after two days. */
export const listExportKeys = statement<{ id: number; sealed: string }>(
  'list-export-keys',
  `select id, sealed_key as sealed from person_exports where sealed_key is not null`,
)

/** Replaces keys. Values: ids, old keys and new keys. */
export const replaceExportKeys = statement<{ id: number }>(
  'replace-export-keys',
  `update person_exports e set sealed_key = renewed.key
     from unnest($1::int[], $2::text[], $3::text[]) as renewed(id, before, key)
    where e.id = renewed.id and e.sealed_key = renewed.before returning e.id`,
)

/** Lists exports that are not made yet. */
export const listWaitingExports = statement<{ id: number }>(
  'list-waiting-exports',
  `select id from person_exports where state = 'waiting' order by id limit 1000`,
)

/** Finds archives without an export. Values: names of archives. */
export const findOrphanedExports = statement<{ name: string }>(
  'find-orphaned-exports',
  `select name from unnest($1::uuid[]) as g(name) where not exists (select from person_exports e where e.file = g.name)`,
)
