import { statement, unboundedStatement } from '../sql/statement.ts'
import { Knowledge, KnowledgeFile } from './knowledge.ts'

const files = KnowledgeFile.tableName

interface KnowledgeFileRow {
  id: number
  /** Name of the file in its file store. */
  name: string
  bytes: number
  sealedKey: string
}

const columns = 'id, uuid as name, bytes, sealed_key as "sealedKey"'

/** Lists files in the order of their names. Values: the name after which to continue, and the batch size. */
export const listKnowledgeFilesByName = unboundedStatement<KnowledgeFileRow>(
  `select ${columns} from ${files} where uuid > $1::uuid order by uuid limit $2`,
)

/** Finds existing files. Values: ids. */
export const findExistingKnowledgeFiles = unboundedStatement<{ id: number }>(
  `select id from ${files} where id = any($1::int[])`,
)

/** Selects files of the store without a row. Values: names of files. */
export const findOrphanedKnowledgeFiles = statement<{ name: string }>(
  'find-orphaned-knowledge-files',
  `select file.name::text from unnest($1::uuid[]) file (name) where not exists (select from ${files} f where f.uuid = file.name)`,
)

/** Lists sealed keys after an id. Values: the id, and the batch size. */
export const listKnowledgeKeysAfter = unboundedStatement<{ id: number; sealed: string }>(
  `select id, sealed_key as sealed from ${files} where id > $1::int order by id limit $2::int`,
)

/** Replaces sealed keys. Values: ids, old keys and new keys. */
export const replaceKnowledgeKeys = statement<{ id: number }>(
  'replace-knowledge-keys',
  `update ${files} f set sealed_key = renewed.key from unnest($1::int[], $2::text[], $3::text[]) as renewed (id, before, key)
    where f.id = renewed.id and f.sealed_key = renewed.before returning f.id`,
)

/** Lists files that are still to be read. Values: the id after which to continue, and the batch size. */
export const listUnreadFiles = unboundedStatement<{ id: number }>(
  `select id from ${files} where id > $1::int and state in ('waiting', 'reading') order by id limit $2::int`,
)

/** Lists the files of a person. Values: the person's id, the file after which to continue, and the batch size. */
export const listKnowledgeFilesOf = unboundedStatement<KnowledgeFileRow & { path: string }>(
  `select f.id, f.uuid as name, f.bytes, f.sealed_key as "sealedKey", f.path
     from ${files} f join ${Knowledge.tableName} k on k.id = f.knowledge_id
    where k.owner_id = $1::int and f.id > $2::int order by f.id limit $3::int`,
)
