import { defineEntity, p } from '@mikro-orm/core'
import { id, timestamps, usageTypes } from '../sql/columns.ts'
import { AiModel } from './ai-model.ts'

export const systemModelTypes = ['default', 'title_generation', 'prompt_improvement', 'summary'] as const

/** Which model does a task of the service itself, per usage type. */
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
