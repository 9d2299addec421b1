import { User } from '../identity/user.ts'
import type { TextNote } from '../sql/extracted-text.ts'
import { statement, unboundedStatement } from '../sql/statement.ts'
import { Assistant } from './assistant.ts'
import { AssistantVersion } from './assistant-version.ts'
import type { KnowledgeFailure, KnowledgeFileState } from './knowledge.sql.ts'
import { Knowledge, KnowledgeFile } from './knowledge.ts'

const files = KnowledgeFile.tableName

export interface KnowledgeOfAssistant {
  id: number
  name: string
  ownerId: number
  /** The username of the owner. */
  owner: string
}

/** Finds the knowledge with which an assistant answers, or its newest version before one was published. Values: the handle. */
export const findKnowledgeOfAssistant = statement<{ knowledge: KnowledgeOfAssistant | null }>(
  'find-knowledge-of-assistant',
  `select case when k.id is not null then json_build_object('id', k.id, 'name', k.name, 'ownerId', u.id, 'owner', u.username) end as knowledge
     from ${Assistant.tableName} a
     join ${AssistantVersion.tableName} v on v.assistant_id = a.id and v.number = coalesce(a.published, a.latest)
     left join ${Knowledge.tableName} k on k.id = v.knowledge_id left join ${User.tableName} u on u.id = k.owner_id
    where a.handle = $1`,
)

/** The newest version of a path. */
export interface NewestFile {
  path: string
  fingerprint: string
  state: KnowledgeFileState
  failure: KnowledgeFailure | null
  pages: number | null
  notes: TextNote[]
}

/** Finds the newest versions of paths. Values: the knowledge's id, and the paths. */
export const findNewestFiles = statement<NewestFile>(
  'find-newest-knowledge-files',
  `select distinct on (f.path) f.path, f.fingerprint, f.state, f.failure, f.pages, f.notes
     from ${files} f where f.knowledge_id = $1::int and f.path = any($2::text[]) order by f.path, f.id desc`,
)

/** Lists all versions of all files. Values: the knowledge's id. */
export const listKnowledgePaths = unboundedStatement<{ id: number; path: string }>(
  `select id, path from ${files} where knowledge_id = $1::int order by path collate "C", id`,
)

/** Sums the tokens for each byte of the searchable files of all people, by media type. */
export const listTokenRatios = unboundedStatement<{ mime: string; ratio: number }>(
  `select mime, sum(tokens)::float8 / sum(bytes) as ratio from ${files}
    where state = 'ready' and tokens is not null and bytes > 0 group by mime`,
)
