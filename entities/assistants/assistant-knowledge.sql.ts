import { User } from '../identity/user.ts'
import { statement } from '../sql/statement.ts'
import { isApproved, isUser } from './assistant.sql.ts'
import { Assistant } from './assistant.ts'
import { isEditor } from './assistant-scope.ts'
import { AssistantVersion } from './assistant-version.ts'
import { contentColumns, type KnowledgeContent } from './knowledge.sql.ts'
import { Knowledge, KnowledgeFile, KnowledgePassage } from './knowledge.ts'

const assistants = Assistant.tableName
const files = KnowledgeFile.tableName
const knowledge = Knowledge.tableName
const passages = KnowledgePassage.tableName
const versions = AssistantVersion.tableName

/**
 * SQL: a person, with their present groups, uses a version of an assistant, whose owner or editor has the knowledge. Where versions for all
 * need approval, one that only groups had before is not for all.
 */
const isUsedBy = (person: string, needsApproval: string) =>
  `${isEditor('a', 'k.owner_id')}
      and (${isEditor('a', person)} or (v.published_at is not null and ${isUser('a', { person, groups: 'u.groups' })}
        and (a.audience <> 'all' or ${isApproved} or not ${needsApproval})))`

/** The knowledge of an assistant, for one of its users. */
export interface AssistantKnowledge {
  id: number
  ownerId: number
  name: string
  files: number
  passages: number
  /** Estimated tokens of all passages, with what they repeat of their neighbours. */
  tokens: number
}

/**
 * Finds the knowledge of a version of an assistant, if a person may use that version now: with the groups that the database
 * has of them. Values: the person's id, the handle, the number, and whether versions for all need approval.
 */
export const findAssistantKnowledge = statement<AssistantKnowledge>(
  'find-assistant-knowledge',
  `select k.id, k.owner_id as "ownerId", k.name, f.files, f.passages, f.tokens
     from ${assistants} a join ${versions} v on v.assistant_id = a.id join ${knowledge} k on k.id = v.knowledge_id
     join ${User.tableName} u on u.id = $1::int
    cross join lateral (select count(*)::int as files, coalesce(sum(x.passages), 0)::int as passages,
                               coalesce(sum(x.tokens), 0)::float8 as tokens
                          from ${files} x where x.knowledge_id = k.id and x.state = 'ready') f
    where a.handle = $2 and v.number = $3::int and ${isUsedBy('u.id', '$4::bool')}`,
)

/** Lists all passages of a knowledge in the order of its files. Values: its id, and the number of rows. */
export const listKnowledgeContent = statement<KnowledgeContent>(
  'list-knowledge-content',
  `select ${contentColumns} from ${files} f join ${passages} p on p.file_id = f.id
    where f.knowledge_id = $1::int and f.state = 'ready' order by f.path collate "C", p.ordinal limit $2::int`,
)

/** Finds knowledge by its id. Values: the id of its owner, or null for the host; and the id. */
export const findNamedKnowledge = statement<{ id: number }>(
  'find-named-knowledge',
  `select id from ${knowledge} where id = $2::int and ($1::int is null or owner_id = $1::int)`,
)

/** Finds a readable file by its path. Values: the knowledge's id, and the path. */
export const findReadableFile = statement<{ id: number }>(
  'find-readable-knowledge-file',
  `select id from ${files} where knowledge_id = $1::int and path = $2 and state = 'ready'`,
)

/** SQL: the ordinal of the last passage of a file `f` that begins at an offset or before. A sentence may be in two passages. */
const lastOrdinalAt = (offset: string) =>
  `(select x.ordinal from ${passages} x where x.file_id = f.id and x.from_offset <= ${offset} order by x.ordinal desc limit 1)`

/** Lists passages of a file from an offset on. Values: the knowledge's id, the path, the offset, and the number of rows. */
export const listFileContent = statement<KnowledgeContent>(
  'list-knowledge-file-content',
  `select ${contentColumns} from ${files} f join ${passages} p on p.file_id = f.id
    where f.knowledge_id = $1::int and f.path = $2 and f.state = 'ready' and p.to_offset > $3::int
      and p.ordinal >= coalesce(${lastOrdinalAt('$3::int')}, 0) order by p.ordinal limit $4::int`,
)

/** Lists readable files by path. Values: the knowledge's id, the number of rows, and of those before them. */
export const listReadableFiles = statement<{ path: string; pages: number | null; length: number; total: number }>(
  'list-readable-knowledge-files',
  `select f.path, f.pages, coalesce((select p.to_offset from ${passages} p where p.file_id = f.id order by p.ordinal desc limit 1), 0) as length,
          (count(*) over ())::int as total
     from ${files} f where f.knowledge_id = $1::int and f.state = 'ready' order by f.path collate "C" limit $2::int offset $3::int`,
)

/** A file that was cited, as it is now. */
export interface CitedFile {
  /** True if the cited version is still there. */
  isThere: boolean
  /** True if a newer version of the path is readable. */
  isReplaced: boolean
}

/**
 * Finds a cited file for its owner, or for a person who may use a version of the assistant with this knowledge now. Values:
 * the person's id, the handle, the ids of knowledge and file, the path, and whether versions for all need approval.
 */
export const findCitedFile = statement<CitedFile>(
  'find-cited-file',
  `select exists (select from ${files} f where f.id = $4::int and f.knowledge_id = k.id and f.state = 'ready') as "isThere",
          exists (select from ${files} f where f.knowledge_id = k.id and f.path = $5 and f.state = 'ready' and f.id <> $4::int) as "isReplaced"
     from ${knowledge} k join ${User.tableName} u on u.id = $1::int
    where k.id = $3::int and (k.owner_id = u.id or exists (
            select from ${assistants} a join ${versions} v on v.assistant_id = a.id and v.knowledge_id = k.id
             where a.handle = $2 and ${isUsedBy('u.id', '$6::bool')}))`,
)

/** Finds the passage at a place of a file, with its neighbours. Values: the ids of knowledge and file, and the offset. */
export const findPassageWithNeighbours = statement<KnowledgeContent>(
  'find-passage-with-neighbours',
  `select ${contentColumns} from ${files} f join ${passages} p on p.file_id = f.id
    cross join lateral ${lastOrdinalAt('$3::int')} cited
    where f.knowledge_id = $1::int and f.id = $2::int and p.ordinal between cited.ordinal - 1 and cited.ordinal + 1 order by p.ordinal`,
)
