import { type Role, User } from '../identity/user.ts'
import { isoTime, statement, unboundedStatement } from '../sql/statement.ts'
import { Knowledge, KnowledgeFile, KnowledgePassage } from './knowledge.ts'
import {
  KnowledgeEmbedding,
  KnowledgeIndex,
  KnowledgeVector,
  type knowledgeDelays,
  type knowledgeEmbeddingStates,
  type knowledgeIndexStates,
} from './knowledge-vectors.ts'

const knowledge = Knowledge.tableName
const files = KnowledgeFile.tableName
const passages = KnowledgePassage.tableName
const indexes = KnowledgeIndex.tableName
const embeddings = KnowledgeEmbedding.tableName
const vectors = KnowledgeVector.tableName

export type KnowledgeDelay = (typeof knowledgeDelays)[number]

/** The progress of a file in the index that is searched. */
export interface EmbeddingProgress {
  state: (typeof knowledgeEmbeddingStates)[number]
  /** Passages that are embedded, of all passages of the file. */
  embedded: number
  /** The reason why the embedding waits; null if it does not. */
  delay: KnowledgeDelay | null
  delayedSince: string | null
  /** True if it has waited for an hour. */
  isLate: boolean
}

/** SQL: the progress of a file `f` as JSON; null if it is not embedded. */
export const embeddingProgress = `(select json_build_object('state', e.state, 'embedded', e.embedded, 'delay', e.delay,
  'delayedSince', ${isoTime('e.delayed_since')}, 'isLate', coalesce(e.delayed_since < now() - interval '1 hour', false))
  from ${embeddings} e join ${indexes} i on i.id = e.index_id where e.file_id = f.id and i.state = 'active')`

/** SQL: a file `f` is being embedded for the index that is searched. */
export const isBeingEmbedded = `exists (select from ${embeddings} e join ${indexes} i on i.id = e.index_id
  where e.file_id = f.id and e.state = 'pending' and i.state = 'active')`

/** SQL: the id and the model of the index that is searched, as JSON; null without one. */
export const activeIndex = `(select json_build_object('id', i.id, 'model', i.model, 'dimensions', i.dimensions, 'length', i.length)
  from ${indexes} i where i.state = 'active')`

export interface ActiveIndex {
  id: number
  model: string
  dimensions: number | null
  /** The dimensions of its vectors; null if it has none. */
  length: number | null
}

/** Plans to embed a file for the indexes that are searched and built. Values: the file's id. */
export const planFileEmbeddings = statement<{ id: number }>(
  'plan-file-embeddings',
  `insert into ${embeddings} (file_id, index_id) select $1::int, i.id from ${indexes} i where i.state <> 'retired'
   on conflict do nothing returning id`,
)

/** A file that a job embeds. */
export interface PendingEmbedding {
  id: number
  embedded: number
  byHouse: boolean
  attempts: number
  indexId: number
  model: string
  dimensions: number | null
  fileId: number
  path: string
  sealedKey: string
  passages: number
  knowledgeId: number
  ownerId: number
}

/** Selects nothing if there is nothing left to embed. Values: the embedding's id. */
export const findPendingEmbedding = statement<PendingEmbedding>(
  'find-pending-embedding',
  `select e.id, e.embedded, e.by_house as "byHouse", e.attempts, i.id as "indexId", i.model, i.dimensions,
          f.id as "fileId", f.path, f.sealed_key as "sealedKey", f.passages, k.id as "knowledgeId", k.owner_id as "ownerId"
     from ${embeddings} e join ${indexes} i on i.id = e.index_id join ${files} f on f.id = e.file_id join ${knowledge} k on k.id = f.knowledge_id
    where e.id = $1::int and e.state = 'pending' and i.state <> 'retired' and f.state = 'ready'`,
)

/** Lists passages of a file in their order. Values: the file's id, the first ordinal, and the number of rows. */
export const listPassagesFrom = statement<{ ordinal: number; sealed: Buffer }>(
  'list-passages-from',
  `select ordinal, sealed from ${passages} where file_id = $1::int and ordinal >= $2::int order by ordinal limit $3::int`,
)

/**
 * Counts further passages as embedded, unless another process did, or the file or its index is gone. Values: the embedding's id, how many
 * were embedded before, and how many more are.
 */
export const advanceEmbedding = statement<{ id: number }>(
  'advance-embedding',
  `update ${embeddings} e set embedded = e.embedded + $3::int, attempts = 0, delay = null, delayed_since = null
     from ${indexes} i
    where e.id = $1::int and e.embedded = $2::int and e.state = 'pending' and i.id = e.index_id and i.state <> 'retired' returning e.id`,
)

/** Counts tokens of an index, and keeps the length of its vectors; selects nothing if they had another one. Values: the index's id, the length, estimated tokens, and billed tokens. */
export const countEmbedded = statement<{ id: number }>(
  'count-embedded',
  `update ${indexes} set length = $2::int, estimated_tokens = estimated_tokens + $3::bigint, billed_tokens = billed_tokens + $4::bigint
    where id = $1::int and coalesce(length, $2::int) = $2::int returning id`,
)

/** Values: the embedding's id, ordinals, and a sealed vector for each. */
export const insertVectors = statement<never>(
  'insert-knowledge-vectors',
  `insert into ${vectors} (embedding_id, ordinal, sealed) select $1::int, v.* from unnest($2::int[], $3::bytea[]) v`,
)

/** Locks a knowledge before its embeddings, as those do who delete files. Values: its id. */
export const lockKnowledgeById = statement<{ id: number }>(
  'lock-knowledge-by-id',
  `select id from ${knowledge} where id = $1::int for update`,
)

/** Selects the state of the index if this made the embedding whole. Values: the embedding's id. */
export const completeEmbedding = statement<{ indexState: ListedIndex['state'] }>(
  'complete-embedding',
  `update ${embeddings} e set state = 'whole' from ${files} f, ${indexes} i
    where e.id = $1::int and e.state = 'pending' and f.id = e.file_id and e.embedded = f.passages and i.id = e.index_id
   returning i.state as "indexState"`,
)

/** Ends an embedding that the model refuses. Values: the embedding's id. */
export const refuseEmbedding = statement<never>(
  'refuse-embedding',
  `update ${embeddings} set state = 'refused', delay = null, delayed_since = null where id = $1::int and state = 'pending'`,
)

/** Selects nothing if there is nothing left to embed. Values: the embedding's id, and the reason. */
export const delayEmbedding = statement<{ attempts: number; byHouse: boolean }>(
  'delay-embedding',
  `update ${embeddings} set attempts = attempts + 1, delay = $2, delayed_since = coalesce(delayed_since, now())
    where id = $1::int and state = 'pending' returning attempts, by_house as "byHouse"`,
)

/**
 * Finds another file of the same owner that has the same bytes and passages, and is embedded already, or will be before this one. Values: the
 * embedding's id.
 */
export const findEqualEmbedding = statement<{ embeddingId: number; sealedKey: string; isWhole: boolean }>(
  'find-equal-embedding',
  `select other.id as "embeddingId", g.sealed_key as "sealedKey", other.state = 'whole' as "isWhole"
     from ${embeddings} e join ${files} f on f.id = e.file_id join ${knowledge} k on k.id = f.knowledge_id
     join ${knowledge} l on l.owner_id = k.owner_id join ${files} g on g.knowledge_id = l.id and g.fingerprint = f.fingerprint and g.id <> f.id
     join ${embeddings} other on other.file_id = g.id and other.index_id = e.index_id
      and (other.state = 'whole' or (other.state = 'pending' and other.id < e.id))
    where e.id = $1::int and g.passages = f.passages and not exists (
      select ordinal, from_offset, to_offset from ${passages} where file_id = f.id
      except select ordinal, from_offset, to_offset from ${passages} where file_id = g.id)
    order by other.state = 'whole' desc limit 1`,
)

/** Lists vectors of an embedding in their order. Values: the embedding's id, the first ordinal, and the number of rows. */
export const listVectorsFrom = statement<{ ordinal: number; sealed: Buffer }>(
  'list-vectors-from',
  `select ordinal, sealed from ${vectors} where embedding_id = $1::int and ordinal >= $2::int order by ordinal limit $3::int`,
)

/** A vector of a passage with the key of its file. */
export interface FoundVector {
  fileId: number
  ordinal: number
  sealedKey: string
  sealed: Buffer
}

/** A file whose passages all have a vector. */
export interface EmbeddedFile {
  embeddingId: number
  fileId: number
  sealedKey: string
}

/** Lists the whole embeddings of a knowledge. Values: its id, the index's id, the file after which to continue, and the number of rows. */
export const listEmbeddingsAfter = unboundedStatement<EmbeddedFile>(
  `select e.id as "embeddingId", f.id as "fileId", f.sealed_key as "sealedKey"
     from ${files} f join ${embeddings} e on e.file_id = f.id and e.index_id = $2::int and e.state = 'whole'
    where f.knowledge_id = $1::int and f.state = 'ready' and f.id > $3::int order by f.id limit $4::int`,
)

/** Finds vectors of passages. Values: the index's id, ids of files, and beside each the ordinal. */
export const findVectors = statement<FoundVector>(
  'find-knowledge-vectors',
  `select f.id as "fileId", v.ordinal, f.sealed_key as "sealedKey", v.sealed
     from unnest($2::int[], $3::int[]) g(file, ordinal)
     join ${embeddings} e on e.file_id = g.file and e.index_id = $1::int and e.state = 'whole'
     join ${files} f on f.id = g.file
     join ${vectors} v on v.embedding_id = e.id and v.ordinal = g.ordinal`,
)

export interface ListedIndex {
  id: number
  model: string
  dimensions: number | null
  state: (typeof knowledgeIndexStates)[number]
  createdAt: string
  /** Numbers of searchable files by the state of their embedding; `missing` ones were never planned. */
  files: { whole: number; pending: number; refused: number; missing: number }
}

/** Lists the indexes that are searched and built. */
export const listIndexes = unboundedStatement<ListedIndex>(
  `select i.id, i.model, i.dimensions, i.state, ${isoTime('i.created_at')} as "createdAt",
          json_build_object('whole', count(*) filter (where e.state = 'whole'), 'pending', count(*) filter (where e.state = 'pending'),
            'refused', count(*) filter (where e.state = 'refused'), 'missing', count(f.id) - count(e.id)) as files
     from ${indexes} i left join ${files} f on f.state = 'ready' left join ${embeddings} e on e.file_id = f.id and e.index_id = i.id
    where i.state <> 'retired' group by i.id order by i.state`,
)

/** Estimated tokens of a passage whose file was read before they were counted. */
const TOKENS_PER_PASSAGE = 300

/**
 * Sums what an index still has to embed. Values: the id of an index, or null for one that is not begun.
 */
export const sumMissing = unboundedStatement<{ files: number; passages: number; tokens: number }>(
  `select count(*)::int as files, coalesce(sum(f.passages - coalesce(e.embedded, 0)), 0)::int as passages,
          coalesce(sum(coalesce(f.tokens, f.passages * ${TOKENS_PER_PASSAGE})::float8
            * (f.passages - coalesce(e.embedded, 0)) / greatest(f.passages, 1)), 0)::float8 as tokens
     from ${files} f left join ${embeddings} e on e.file_id = f.id and e.index_id = $1::int
    where f.state = 'ready' and coalesce(e.state, 'pending') <> 'whole'`,
)

/** Selects by which factor bills differed from our estimates; nothing before the first bill. Values: a model, whose own bills count first. */
export const findTokenRatio = unboundedStatement<{ ratio: number }>(
  `select billed_tokens::float8 / estimated_tokens as ratio from ${indexes} where estimated_tokens > 0
    order by (model = $1) desc, id desc limit 1`,
)

/** Begins an index. Selects nothing if there is one in this state. Values: model, dimensions or null, and state. */
export const insertIndex = statement<{ id: number }>(
  'insert-knowledge-index',
  `insert into ${indexes} (model, dimensions, state) values ($1, $2::int, $3) on conflict do nothing returning id`,
)

/** Locks the indexes that are searched and built. */
export const lockIndexes = statement<{
  id: number
  state: 'active' | 'building'
  model: string
  dimensions: number | null
}>(
  'lock-knowledge-indexes',
  `select id, state, model, dimensions from ${indexes} where state <> 'retired' order by id for update`,
)

/** Values: the ids of indexes. */
export const retireIndexes = statement<never>(
  'retire-knowledge-indexes',
  `update ${indexes} set state = 'retired', retired_at = now() where id = any($1::int[])`,
)

/** Values: the id of an index. */
export const activateIndex = statement<never>(
  'activate-knowledge-index',
  `update ${indexes} set state = 'active' where id = $1::int`,
)

/** Finds the index that is built, if none of its planned files is to be embedded any more. It reads no file, so each embedded one can ask. */
export const findBuiltIndex = statement<{ id: number }>(
  'find-built-knowledge-index',
  `select i.id from ${indexes} i
    where i.state = 'building' and not exists (select from ${embeddings} e where e.index_id = i.id and e.state = 'pending')`,
)

/** True if no searchable file has to be embedded for an index any more. Values: its id. */
export const isIndexWhole = unboundedStatement<{ whole: boolean }>(
  `select count(*) filter (where coalesce(e.state, 'pending') = 'pending') = 0
      and count(*) filter (where e.state = 'refused') * 10 <= count(*) as whole
     from ${files} f left join ${embeddings} e on e.file_id = f.id and e.index_id = $1::int where f.state = 'ready'`,
)

/** True if a searchable file was never planned for an index. Values: the index's id, or null for one that is not begun. */
export const hasUnplannedFile = unboundedStatement<{ has: boolean }>(
  `select exists (select from ${files} f where f.state = 'ready'
     and not exists (select from ${embeddings} e where e.file_id = f.id and e.index_id = $1::int)) as has`,
)

/**
 * Plans to embed searchable files for an index, at the cost of the installation, and those that were refused once more. Values: the
 * index's id, the file after which to continue, and the number of files.
 */
export const planIndex = unboundedStatement<{ id: number; fileId: number }>(
  `insert into ${embeddings} as e (file_id, index_id, by_house)
   select f.id, $1::int, true from ${files} f where f.state = 'ready' and f.id > $2::int order by f.id limit $3::int
   on conflict (file_id, index_id) do update set state = case when e.state = 'refused' then 'pending' else e.state end
   returning id, file_id as "fileId"`,
)

/** Lists embeddings that are to be made. Values: the id after which to continue, and the number of rows. */
export const listPendingEmbeddings = unboundedStatement<{ id: number }>(
  `select e.id from ${embeddings} e join ${indexes} i on i.id = e.index_id
    where e.id > $1::int and e.state = 'pending' and i.state <> 'retired' order by e.id limit $2::int`,
)

/** Deletes embeddings of indexes that were replaced ten minutes ago, so that no search needs them any more. Values: the number of files. */
export const deleteRetiredEmbeddings = unboundedStatement<{ id: number }>(
  `delete from ${embeddings} where id in (
     select e.id from ${embeddings} e join ${indexes} i on i.id = e.index_id
      where i.state = 'retired' and i.retired_at < now() - interval '10 minutes' limit $1::int) returning id`,
)

export const deleteRetiredIndexes = statement<{ id: number }>(
  'delete-retired-knowledge-indexes',
  `delete from ${indexes} i where state = 'retired' and retired_at < now() - interval '30 days'
      and not exists (select from ${embeddings} e where e.index_id = i.id) returning id`,
)

/** Finds who pays for embeddings. Values: the user's id. */
export const findPayer = statement<{
  id: number
  username: string
  name: string
  email: string
  role: Role
  groups: string[]
}>(
  'find-payer-of-embeddings',
  `select id, username, name, email, role, to_json(groups) as groups from ${User.tableName} where id = $1::int`,
)
