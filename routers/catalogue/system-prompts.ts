import { z } from 'zod'
import { SystemPrompt, visiblePrompts } from '../../entities/catalogue/system-prompt.ts'
import { router } from '../core/trpc.ts'
import { locale } from '../ports/locales.ts'
import { attribute, cataloguePage, resource, timestamps } from '../resource/declare.ts'
import { reads } from '../verbs/read.ts'
import { writes } from '../verbs/write.ts'
import { task, taskUsage } from './schemas.ts'

export const systemPrompts = resource({
  type: 'system-prompts',
  about:
    "What a model is told before a task, in the caller's language or the default one. The front end sends it along.",
  entity: SystemPrompt,
  coalesced: true,
  scope: visiblePrompts,
  attributes: {
    promptType: attribute(task, { write: true, sort: true }),
    usageType: attribute(taskUsage, { write: true, default: 'main' }),
    locale: attribute(locale, { write: true, sort: true }),
    prompt: attribute(z.string().min(1).max(50_000).describe('What the model is told first.'), { write: true }),
    ...timestamps,
  },
  page: cataloguePage,
})

export const systemPromptsRouter = router({ ...reads(systemPrompts), ...writes(systemPrompts, { body: 'long text' }) })
