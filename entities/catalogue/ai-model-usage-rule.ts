import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { usageTypes } from '../sql/columns.ts'
import { AiModel } from './ai-model.ts'

/** Allows a model to one usage type. */
export const AiModelUsageRule = defineEntity({
  name: 'AiModelUsageRule',
  tableName: 'ai_model_usage_rules',
  properties: {
    model: () => p.manyToOne(AiModel).primary().deleteRule('cascade').ref(),
    usageType: p.enum(usageTypes).primary(),
  },
})
export type AiModelUsageRule = InferEntity<typeof AiModelUsageRule>
