import { defineEntity, p } from '@mikro-orm/core'
import { bestMatch, preferLanguage, preferUsage } from '../sql/best-match.ts'
import { id, timestamps, usageTypes } from '../sql/columns.ts'
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

/** The best prompt for each task, first by usage type, then by language. */
export const visiblePrompts = everyRowForAdmins((prompt, sql) =>
  bestMatch('system_prompts', 'prompt_type', [preferUsage, preferLanguage])(prompt, sql),
)
