import { offeredAssistants } from '../assistants/assistant.sql.ts'
import { offeredModels } from '../catalogue/ai-model.sql.ts'
import { statement } from '../sql/statement.ts'

export interface BindableModel {
  /** The name in requests. */
  name: string
  label: string
  /** Null for a model. */
  assistantId: number | null
}

/**
 * Lists what a person's programs may ask now, models before assistants. Values: the person's id and groups, the groups for
 * access to models or null for all, and names or null for all.
 */
export const listBindableModels = statement<BindableModel>(
  'list-bindable-models',
  `select name, label, "assistantId" from (
     select 1 as kind, m.model_id as name, m.label, null::int as "assistantId"
       from ${offeredModels("'external'", '$3::text[]')}
     union all
     select 2, 'assistant/' || a.handle, v.name, a.id
       from ${offeredAssistants("'external'", '$3::text[]')}) offered
    where $4::text[] is null or name = any($4::text[])
    order by kind, lower(label), name limit 2000`,
)
