import { defineEntity, p } from '@mikro-orm/core'
import { id, timestamps } from '../sql/columns.ts'
import { AiModel } from './ai-model.ts'

export const AiModelDescription = defineEntity({
  name: 'AiModelDescription',
  tableName: 'ai_model_descriptions',
  uniques: [{ properties: ['model', 'locale'] }],
  properties: {
    id,
    ...timestamps,
    model: () => p.manyToOne(AiModel).deleteRule('cascade').ref(),
    locale: p.string().length(10),
    description: p.text(),
  },
})
