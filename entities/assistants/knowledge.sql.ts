import type { TextNote } from '../sql/extracted-text.ts'
import { isoTime, statement, unboundedStatement } from '../sql/statement.ts'
import {
  Knowledge,
  KnowledgeFile,
  KnowledgePassage,
  KnowledgeTerms,
  type knowledgeFailures,
  type knowledgeFileStates,
} from './knowledge.ts'
import {
  type ActiveIndex,
  activeIndex,
  type EmbeddingProgress,
  embeddingProgress,
  isBeingEmbedded,
} from './knowledge-vectors.sql.ts'

const knowledge = Knowledge.tableName
const files = KnowledgeFile.tableName
const terms = KnowledgeTerms.tableName
const passages = KnowledgePassage.tableName

export type KnowledgeFileState = (typeof knowledgeFileStates)[number]
export type KnowledgeFailure = (typeof knowledgeFailures)[number]

/** A file in its file store. */
interface KnowledgeStoredFile {
  uuid: string
  bytes: number
  sealedKey: string
}

const storedColumns = (row: string) => `${row}.uuid, ${row}.bytes, ${row}.sealed_key as "sealedKey"`

export interface ListedKnowledge {
  id: number
  name: string
  createdAt: string
  /** Numbers of files by their states. */
  files: Record<KnowledgeFileState, number>
  /** Files that are searchable by their words while they are being embedded. */
  embedding: number
  bytes: number
  passages: number
}

/** Lists the knowledge of a person by name. Values: the person's id, and whether files are embedded. */
export const listKnowledge = statement<ListedKnowledge>(
  'list-knowledge',
  `select k.id, k.name, ${isoTime('k.created_at')} as "createdAt",
          json_build_object('waiting', count(*) filter (where f.state = 'waiting'), 'reading', count(*) filter (where f.state = 'reading'),
            'ready', count(*) filter (where f.state = 'ready'), 'failed', count(*) filter (where f.state = 'failed')) as files,
          (count(*) filter (where $2::bool and f.state = 'ready' and ${isBeingEmbedded}))::int as embedding,
          coalesce(sum(f.bytes), 0)::float8 as bytes, coalesce(sum(f.passages), 0)::int as passages
     from ${knowledge} k left join ${files} f on f.knowledge_id = k.id
    where k.owner_id = $1::int group by k.id order by lower(k.name), k.id`,
)

/** Values: the owner's id. */
export const countKnowledge = statement<{ count: number }>(
  'count-knowledge',
  `select count(*)::int as count from ${knowledge} where owner_id = $1::int`,
)

/** Selects nothing if the person has one of this name. Values: the owner's id, and the name. */
export const insertKnowledge = statement<{ id: number }>(
  'insert-knowledge',
  `insert into ${knowledge} (owner_id, name) values ($1::int, $2) on conflict (owner_id, name) do nothing returning id`,
)

/** Locks a person's own knowledge. Values: the owner's id, and the id. */
export const lockKnowledge = statement<{ id: number }>(
  'lock-knowledge',
  `select id from ${knowledge} where id = $2::int and owner_id = $1::int for update`,
)

/** Deletes knowledge with its files, and selects the names of the files in their store. Values: ids. */
export const deleteKnowledge = statement<{ uuid: string }>(
  'delete-knowledge',
  `with gone as (select f.uuid from ${files} f where f.knowledge_id = any($1::int[])), deleted as (delete from ${knowledge} where id = any($1::int[]))
   select uuid from gone`,
)

/** Lists the knowledge of a person who is being erased. Values: the owner's id. */
export const listKnowledgeIds = statement<{ id: number }>(
  'list-knowledge-ids',
  `select id from ${knowledge} where owner_id = $1::int`,
)

/** Makes every index of a knowledge old. Values: its id. */
export const raiseVersion = statement<never>(
  'raise-knowledge-version',
  `update ${knowledge} set version = version + 1, updated_at = now() where id = $1::int`,
)

export interface ListedKnowledgeFile {
  id: number
  path: string
  mime: string
  bytes: number
  state: KnowledgeFileState
  failure: KnowledgeFailure | null
  language: string | null
  pages: number | null
  passages: number
  truncated: boolean
  notes: TextNote[]
  /** Null if no embedding model is set, or before the file was read. */
  embedding: EmbeddingProgress | null
  createdAt: string
}

/**
 * Lists the files of a person's own knowledge by path, the newest version first. Values: the owner's id, the id, the
 * number of rows, and of those before them, and whether files are embedded.
 */
export const listKnowledgeFiles = statement<{ file: ListedKnowledgeFile | null; total: number }>(
  'list-knowledge-files',
  `select case when f.id is not null then json_build_object('id', f.id, 'path', f.path, 'mime', f.mime, 'bytes', f.bytes, 'state', f.state,
            'failure', f.failure, 'language', f.language, 'pages', f.pages, 'passages', f.passages, 'truncated', f.truncated,
            'notes', f.notes, 'embedding', case when $5::bool then ${embeddingProgress} end, 'createdAt', ${isoTime('f.created_at')}) end as file, (count(f.id) over ())::int as total
     from ${knowledge} k left join ${files} f on f.knowledge_id = k.id
    where k.id = $2::int and k.owner_id = $1::int order by f.path, f.id desc limit $3::int offset $4::int`,
)

/** Counts the files of a person's own knowledge; selects nothing if they have no such knowledge. Values: the owner's id, and the id. */
export const countKnowledgeFiles = statement<{ total: number }>(
  'count-knowledge-files',
  `select count(f.id)::int as total from ${knowledge} k left join ${files} f on f.knowledge_id = k.id
    where k.id = $2::int and k.owner_id = $1::int group by k.id`,
)

/** Sums the files of a person, without those of a path. Values: the owner's id, and the id of the knowledge with the path. */
export const sumKnowledgeFiles = statement<{ bytes: number; files: number; unread: number }>(
  'sum-knowledge-files',
  `select coalesce(sum(f.bytes), 0)::float8 as bytes, count(*)::int as files,
          count(*) filter (where f.state in ('waiting', 'reading'))::int as unread
     from ${files} f join ${knowledge} k on k.id = f.knowledge_id
    where k.owner_id = $1::int and (f.knowledge_id, f.path) <> ($2::int, $3::varchar)`,
)

/** Finds the newest version of a path, if it has one of these fingerprints and did not fail. Values: the knowledge's id, the path, and fingerprints. */
export const findEqualFile = statement<{ id: number; state: KnowledgeFileState }>(
  'find-equal-knowledge-file',
  `select f.id, f.state from (select * from ${files} where knowledge_id = $1::int and path = $2 order by id desc limit 1) f
    where f.fingerprint = any($3::text[]) and f.state <> 'failed'`,
)

/** Deletes the versions of a path that nobody can find yet. Values: the knowledge's id, and the path. */
export const deleteUnfinished = statement<{ uuid: string }>(
  'delete-unfinished-knowledge-files',
  `delete from ${files} where knowledge_id = $1::int and path = $2 and state <> 'ready' returning uuid`,
)

/** Values: the knowledge's id, path, name in the store, media type, bytes, fingerprint, and sealed key. */
export const insertKnowledgeFile = statement<{ id: number }>(
  'insert-knowledge-file',
  `insert into ${files} (knowledge_id, path, uuid, mime, bytes, fingerprint, sealed_key)
   values ($1::int, $2, $3::uuid, $4, $5::int, $6, $7) returning id`,
)

/** Deletes files of a locked knowledge. Values: its id, and the ids of the files. */
export const deleteKnowledgeFiles = statement<{ uuid: string; state: KnowledgeFileState }>(
  'delete-knowledge-files',
  `delete from ${files} where knowledge_id = $1::int and id = any($2::int[]) returning uuid, state`,
)

/** Cancels the reading or embedding of a file. Values: the id of the locked knowledge, and the id of the file. */
export const cancelKnowledgeFile = statement<{ uuid: string; state: KnowledgeFileState }>(
  'cancel-knowledge-file',
  `delete from ${files} f where f.knowledge_id = $1::int and f.id = $2::int
      and (f.state in ('waiting', 'reading') or (f.state = 'ready' and ${isBeingEmbedded})) returning f.uuid, f.state`,
)

/** A file that a job reads. */
export interface UnreadFile extends KnowledgeStoredFile {
  path: string
  mime: string
}

/** Begins to read a file, or begins anew. Values: the file's id. */
export const beginReading = statement<UnreadFile>(
  'begin-reading-knowledge-file',
  `update ${files} f set state = 'reading' where id = $1::int and state in ('waiting', 'reading') returning f.path, f.mime, ${storedColumns('f')}`,
)

/** Locks a file that is being read, and its knowledge; selects nothing if the file is gone. Values: the file's id. */
export const lockKnowledgeOfFile = statement<{ knowledgeId: number; path: string }>(
  'lock-knowledge-of-file',
  `select k.id as "knowledgeId", f.path from ${knowledge} k join ${files} f on f.knowledge_id = k.id
    where f.id = $1::int and f.state = 'reading' for update of k, f`,
)

/** Sums the passages of a knowledge, and of all knowledge of its owner, without those of a path. Values: the knowledge's id, and the path. */
export const sumPassages = statement<{ passages: number; ofOwner: number }>(
  'sum-knowledge-passages',
  `select coalesce(sum(f.passages) filter (where f.knowledge_id = $1::int), 0)::int as passages, coalesce(sum(f.passages), 0)::int as "ofOwner"
     from ${files} f join ${knowledge} k on k.id = f.knowledge_id
    where k.owner_id = (select owner_id from ${knowledge} where id = $1::int) and (f.knowledge_id, f.path) <> ($1::int, $2::varchar)`,
)

/** Deletes the versions of a path before a file. Values: the knowledge's id, the path, and the file's id. */
export const deleteEarlierVersions = statement<{ uuid: string }>(
  'delete-earlier-knowledge-files',
  `delete from ${files} where knowledge_id = $1::int and path = $2 and id < $3::int returning uuid`,
)

/** Values: the file's id, language, pages or null, number of passages, whether it is truncated, notes as JSON, and tokens. */
export const finishReading = statement<never>(
  'finish-reading-knowledge-file',
  `update ${files} set state = 'ready', language = $2, pages = $3::int, passages = $4::int, truncated = $5::bool, notes = $6::jsonb, tokens = $7::int
    where id = $1::int and state = 'reading'`,
)

/** Values: the file's id, the reason, pages or null, and notes as JSON. */
export const failReading = statement<never>(
  'fail-reading-knowledge-file',
  `update ${files} set state = 'failed', failure = $2, pages = $3::int, notes = $4::jsonb
    where id = $1::int and state in ('waiting', 'reading')`,
)

/** Values: the file's id, and its sealed words. */
export const insertTerms = statement<never>(
  'insert-knowledge-terms',
  `insert into ${terms} (file_id, sealed) values ($1::int, $2::bytea)`,
)

/** Adds passages. Values: the file's id, and for each passage ordinal, both offsets, page or null, and what is sealed. */
export const insertPassages = statement<never>(
  'insert-knowledge-passages',
  `insert into ${passages} (file_id, ordinal, from_offset, to_offset, page, sealed)
   select $1::int, p.* from unnest($2::int[], $3::int[], $4::int[], $5::int[], $6::bytea[]) p`,
)

/**
 * Finds a person's own knowledge for a search. Values: the owner's id, and the id.
 */
export const findSearchable = statement<{
  id: number
  version: number
  languages: string[]
  vectors: ActiveIndex | null
}>(
  'find-searchable-knowledge',
  `select k.id, k.version,
          to_json(array(select distinct f.language from ${files} f where f.knowledge_id = k.id and f.state = 'ready')) as languages,
          ${activeIndex} as vectors
     from ${knowledge} k where k.id = $2::int and k.owner_id = $1::int`,
)

/** Lists the sealed words of the files of a knowledge. Values: its id, the id after which to continue, and the number of rows. */
export const listTermsAfter = unboundedStatement<{
  fileId: number
  language: string
  sealedKey: string
  sealed: Buffer
}>(
  `select f.id as "fileId", f.language, f.sealed_key as "sealedKey", t.sealed
     from ${files} f join ${terms} t on t.file_id = f.id
    where f.knowledge_id = $1::int and f.state = 'ready' and f.id > $2::int order by f.id limit $3::int`,
)

/** A passage with what opens it. */
export interface KnowledgeContent {
  fileId: number
  path: string
  ordinal: number
  from: number
  to: number
  page: number | null
  sealedKey: string
  sealed: Buffer
}

/** SQL: the columns of a passage `p` of a file `f`. */
export const contentColumns = `f.id as "fileId", f.path, p.ordinal, p.from_offset as "from", p.to_offset as "to", p.page,
          f.sealed_key as "sealedKey", p.sealed`

/** Finds passages of searchable files. Values: the knowledge's id, ids of files, and beside each the ordinal. */
export const findPassages = statement<KnowledgeContent>(
  'find-knowledge-passages',
  `select ${contentColumns}
     from unnest($2::int[], $3::int[]) g(file, ordinal)
     join ${files} f on f.id = g.file and f.knowledge_id = $1::int and f.state = 'ready'
     join ${passages} p on p.file_id = f.id and p.ordinal = g.ordinal`,
)

/**
 * Finds the language of a text: the one that knows most of its words as frequent ones. Values: the text, and text search
 * configurations, the first of which knows no language.
 */
export const countRareWords = statement<{ language: string; words: number }>(
  'count-rare-words',
  `select c.language, (select coalesce(sum(cardinality(w.positions)), 0)::int from unnest(to_tsvector(c.language::regconfig, $1)) w) as words
     from unnest($2::text[]) c(language)`,
)

/** Lists the words of texts with their numbers; words and numbers alternate. Values: the text search configuration, and the texts. */
export const listWords = statement<{ words: string[]; counts: number[] }>(
  'list-knowledge-words',
  `select to_json(coalesce(array_agg(w.lexeme) filter (where w.lexeme is not null), '{}')) as words,
          to_json(coalesce(array_agg(cardinality(w.positions)) filter (where w.lexeme is not null), '{}')) as counts
     from unnest($2::text[]) with ordinality t(text, n) left join lateral unnest(to_tsvector($1::regconfig, t.text)) w on true
    group by t.n order by t.n`,
)

/** Lists the words of a question in several languages. Values: text search configurations, and the question. */
export const listQueryWords = statement<{ language: string; words: string[] }>(
  'list-query-words',
  `select c.language, to_json(tsvector_to_array(to_tsvector(c.language::regconfig, $2))) as words from unnest($1::text[]) c(language)`,
)
