import type { EntityManager } from '@mikro-orm/core'
import { z } from 'zod'
import { SystemPrompt, visiblePrompts } from '../../entities/catalogue/system-prompt.ts'
import { router } from '../core/trpc.ts'
import { type Locale, locale } from '../ports/locales.ts'
import { attribute, cataloguePage, defineResource, timestamps } from '../resource/declare.ts'
import { defineReads } from '../verbs/read.ts'
import { defineWrites } from '../verbs/write.ts'
import { task, taskUsage } from './schemas.ts'

export const systemPrompts = defineResource({
  type: 'system-prompts',
  about:
    "The instructions for tasks, in the caller's language or the default one. The front end sends them with its requests.",
  entity: SystemPrompt,
  coalesced: true,
  scope: visiblePrompts,
  attributes: {
    promptType: attribute(task, { write: true, sort: true }),
    usageType: attribute(taskUsage, { write: true, default: 'main' }),
    locale: attribute(locale, { write: true, sort: true }),
    prompt: attribute(z.string().min(1).max(50_000).describe('The instructions that the model gets first.'), {
      write: true,
    }),
    ...timestamps,
  },
  page: cataloguePage,
})

export const systemPromptsRouter = router({
  ...defineReads(systemPrompts),
  ...defineWrites(systemPrompts, { body: 'long text' }),
})

/** Default system prompts by task. */
const defaultPrompts: Record<Locale, Record<string, string>> = {
  en_US: {
    default: 'You are a helpful assistant. Answer clearly and honestly, and say when you do not know something.',
    title_generation:
      'Give this conversation a title of at most three words, in its own language. Answer with the title only.',
    prompt_improvement:
      'Improve this request to a language model, in its own language, without changing what is asked. Answer with the new request only.',
    summary:
      'Summarise this conversation so that it can go on from the summary alone: what was asked, found and decided, with names, numbers and open questions, in its own language, in at most three hundred words. Answer with the summary only.',
  },
  de_DE: {
    default: 'Du bist ein hilfreicher Assistent. Antworte klar und ehrlich, und sage, wenn du etwas nicht weißt.',
    title_generation:
      'Gib diesem Gespräch einen Titel aus höchstens drei Wörtern, in seiner eigenen Sprache. Antworte nur mit dem Titel.',
    prompt_improvement:
      'Verbessere diese Anfrage an ein Sprachmodell in ihrer eigenen Sprache, ohne zu ändern, worum gebeten wird. Antworte nur mit der neuen Anfrage.',
    summary:
      'Fasse dieses Gespräch so zusammen, dass es allein mit der Zusammenfassung weitergehen kann: was gefragt, gefunden und entschieden wurde, mit Namen, Zahlen und offenen Fragen, in seiner eigenen Sprache, in höchstens dreihundert Wörtern. Antworte nur mit der Zusammenfassung.',
  },
}

/** Former defaults, which nobody has changed where they still stand. */
const formerPrompts = new Set([
  'Summarise this whole conversation in at most one hundred words. Answer with the summary only.',
  'Fasse dieses ganze Gespräch in höchstens hundert Wörtern zusammen. Antworte nur mit der Zusammenfassung.',
])

/** Adds the missing prompts, and replaces former defaults; those of administrators stay. */
export async function addDefaultPrompts(em: EntityManager): Promise<void> {
  const rows = await em.find(SystemPrompt, { usageType: 'main' })
  const existing = new Map(rows.map((row) => [`${row.locale} ${row.promptType}`, row]))
  for (const [locale, prompts] of Object.entries(defaultPrompts)) {
    for (const [promptType, prompt] of Object.entries(prompts)) {
      const row = existing.get(`${locale} ${promptType}`)
      if (!row) em.create(SystemPrompt, { locale, promptType, prompt })
      else if (formerPrompts.has(row.prompt)) row.prompt = prompt
    }
  }
  await em.flush()
}
