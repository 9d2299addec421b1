import { defineEntity, p } from '@mikro-orm/core'
import { id, timestamps, usageTypes } from '../sql/columns.ts'
import { language, nearest, usage } from '../sql/nearest.ts'
import { everyRowForAdmins } from '../sql/scope.ts'

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

/** Of each task the one prompt that is meant for the caller: for their usage type first, then in their language. */
export const visiblePrompts = everyRowForAdmins((prompt, sql) =>
  nearest('system_prompts', 'prompt_type', [usage, language])(prompt, sql),
)
