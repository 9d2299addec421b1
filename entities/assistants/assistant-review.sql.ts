import { User } from '../identity/user.ts'
import { isoTime, statement } from '../sql/statement.ts'
import { hashKnowledge } from './assistant.sql.ts'
import { Assistant, type Audience } from './assistant.ts'
import { AssistantVersion } from './assistant-version.ts'

const assistants = Assistant.tableName
const versions = AssistantVersion.tableName

/** Tells if a version was approved for all; selects nothing if there is none. Values: the assistant's id, and the number. */
export const findApproval = statement<{ isApproved: boolean }>(
  'find-assistant-approval',
  `select approved_at is not null as "isApproved" from ${versions} where assistant_id = $1::int and number = $2::int`,
)

/** Has a version wait for approval, in place of another one. Values: the assistant's id, and the number. */
export const proposeVersion = statement<never>(
  'propose-assistant-version',
  `update ${assistants} set proposed = $2::int, proposed_at = case when proposed = $2::int then proposed_at else now() end,
          refused = null, refusal = null, updated_at = now() where id = $1::int`,
)

/** Refuses the version that waits. Values: the assistant's id, and the reason. */
export const refuseVersion = statement<never>(
  'refuse-assistant-version',
  `update ${assistants} set refused = proposed, refusal = $2, proposed = null, proposed_at = null, updated_at = now() where id = $1::int`,
)

/** An assistant of which a version waits for approval. */
export interface WaitingAssistant {
  handle: string
  name: string
  /** The username of the owner; null for an assistant of the installation. */
  owner: string | null
  /** The people who may use it now. */
  audience: Audience
  /** The version that waits. */
  version: number
  /** The version that answers now; null if none does. */
  published: number | null
  waitingSince: string
}

/** Lists the assistants that wait for approval, the longest waiting first. Values: the number of rows, and of those before them. */
export const listWaitingAssistants = statement<{ assistant: WaitingAssistant; total: number }>(
  'list-waiting-assistants',
  `select json_build_object('handle', a.handle, 'name', v.name, 'owner', o.username, 'audience', a.audience, 'version', v.number,
            'published', a.published, 'waitingSince', ${isoTime('a.proposed_at')}) as assistant, (count(*) over ())::int as total
     from ${assistants} a join ${versions} v on v.assistant_id = a.id and v.number = a.proposed
     left join ${User.tableName} o on o.id = a.owner_id
    order by a.proposed_at, a.id limit $1::int offset $2::int`,
)

/** Finds an assistant that waits for approval, with whether its files have changed since. Values: the handle. */
export const findWaitingAssistant = statement<WaitingAssistant & { id: number; hasChangedFiles: boolean }>(
  'find-waiting-assistant',
  `select a.id, a.handle, v.name, o.username as owner, a.audience, v.number as version, a.published, ${isoTime('a.proposed_at')} as "waitingSince",
          v.knowledge_hash is distinct from ${hashKnowledge('v.knowledge_id')} as "hasChangedFiles"
     from ${assistants} a join ${versions} v on v.assistant_id = a.id and v.number = a.proposed
     left join ${User.tableName} o on o.id = a.owner_id where a.handle = $1`,
)
