import { isUser, shownVersion } from '../assistants/assistant.sql.ts'
import { Assistant } from '../assistants/assistant.ts'
import { isEditor } from '../assistants/assistant-scope.ts'
import { AssistantVersion } from '../assistants/assistant-version.ts'
import { offeredModels } from '../catalogue/ai-model.sql.ts'
import { User } from '../identity/user.ts'
import { statement } from '../sql/statement.ts'

/** SQL: the person changes the assistant. */
const mayEdit = isEditor('a', 'viewer.id')

/**
 * Computes a text that changes with the assistants that a person may use or change, what is published of them, and which of their
 * models the person may ask. Of drafts it knows those that the person may change. Values: the person's id, the usage type, and true
 * for access to all models.
 */
export const hashSeenAssistants = statement<{ hash: string }>(
  'hash-seen-assistants',
  `with viewer as (select u.id, u.groups, case when not $3::bool then u.groups end as usable from ${User.tableName} u where u.id = $1::int),
        seen as (
          select concat_ws(' ', a.id, v.id, a.audience, a.allow_remix, case when ${mayEdit} then a.updated_at end) as state,
                 v.model || v.fallback as models
            from viewer cross join ${Assistant.tableName} a
            join ${AssistantVersion.tableName} v on v.assistant_id = a.id and ${shownVersion}
           where ${isUser('a', { person: 'viewer.id', groups: 'viewer.groups' })} and (a.published is not null or ${mayEdit}))
   select encode(sha256(convert_to(concat_ws('|',
            (select string_agg(state, ',' order by state) from seen),
            (select string_agg(m.id::text, '+' order by m.id)
               from ${offeredModels('$2', 'viewer.usable')} and m.model_id in (select unnest(models) from seen))), 'utf8')), 'hex') as hash
     from viewer`,
)
