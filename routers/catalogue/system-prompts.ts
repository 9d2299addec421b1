import { z } from 'zod'
import { visiblePrompts } from '../../entities/catalogue/scopes.ts'
import { SystemPrompt } from '../../entities/catalogue/system-prompt.ts'
import { usageTypes } from '../../entities/sql/columns.ts'
import { router } from '../core/trpc.ts'
import { locale } from '../ports/locales.ts'
import { attribute, cataloguePage, resource, timestamps } from '../resource/declare.ts'
import { reads } from '../verbs/read.ts'
import { writes } from '../verbs/write.ts'

const promptType = z
  .string()
  .trim()
  .min(1)
  .max(80)
  .describe('The task: `default`, `title_generation`, `prompt_improvement`, `summary`, or another word.')
const usageType = z.enum(usageTypes).describe('For the front end, or for programs.')
const prompt = z.string().min(1).max(50_000).describe('What the model is told first.')

const members = { promptType, usageType, locale, prompt }

export const systemPrompts = resource({
  type: 'system-prompts',
  about:
    "What a model is told before a task, in the caller's language or the default one. The front end sends it along.",
  table: 'system_prompts',
  coalesced: true,
  scope: visiblePrompts,
  attributes: {
    promptType: attribute(promptType),
    usageType: attribute(usageType),
    locale: attribute(locale),
    prompt: attribute(prompt),
    ...timestamps,
  },
  sorts: ['promptType', 'locale'],
  page: cataloguePage,
})

export const systemPromptsRouter = router({
  ...reads(systemPrompts),
  ...writes(systemPrompts, {
    entity: SystemPrompt,
    body: 'long text',
    create: { ...members, usageType: usageType.default('main') },
    update: members,
  }),
})
