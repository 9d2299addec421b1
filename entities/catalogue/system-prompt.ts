import { defineEntity, p } from '@mikro-orm/core'
import { id, timestamps, usageTypes } from '../sql/columns.ts'

export const SystemPrompt = defineEntity({
  name: 'SystemPrompt',
  tableName: 'system_prompts',
  uniques: [{ properties: ['locale', 'promptType', 'usageType'] }],
  properties: {
    id,
    ...timestamps,
    locale: p.string().length(10),
    promptType: p.string().length(80),
    usageType: p.enum(usageTypes).default('main'),
    prompt: p.text(),
  },
})
