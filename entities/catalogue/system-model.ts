import { defineEntity, p } from '@mikro-orm/core'
import { bestMatch, preferUsage } from '../sql/best-match.ts'
import { id, timestamps, usageTypes } from '../sql/columns.ts'
import { everyRowForAdmins, type SqlPredicate } from '../sql/scope.ts'
import { AiModel, visibleModels } from './ai-model.ts'

export const systemModelTypes = ['default', 'title_generation', 'prompt_improvement', 'summary'] as const

/** The model for a task of the service itself, per usage type. */
export const SystemModel = defineEntity({
  name: 'SystemModel',
  tableName: 'system_models',
  uniques: [{ properties: ['modelType', 'usageType'] }],
  properties: {
    id,
    ...timestamps,
    modelType: p.string().length(80),
    usageType: p.enum(usageTypes).default('main'),
    model: () => p.manyToOne(AiModel).deleteRule('restrict').index().ref(),
    synced: p.json<Record<string, unknown>>().nullable().hidden(),
  },
})

/** The best assignment of each task: for the caller's usage type, or else for the front end. */
export const visibleSystemModels = everyRowForAdmins((assignment, sql) =>
  bestMatch('system_models', 'model_type', [preferUsage])(assignment, sql),
)

/** SQL for the model's name in requests; null if the caller may not see the model. */
export const visibleModelName: SqlPredicate = (row, sql) =>
  sql.selectColumn('ai_models', 'model_id', (m) => `${m}.id = ${row}.model_id and ${visibleModels(m, sql)}`)
