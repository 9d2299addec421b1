import { z } from 'zod'
import { AiModelDescription } from '../../entities/catalogue/ai-model-description.ts'
import { visibleDescriptions } from '../../entities/catalogue/scopes.ts'
import { router } from '../core/trpc.ts'
import { locale } from '../ports/locales.ts'
import { attribute, cataloguePage, one, resource, timestamps } from '../resource/declare.ts'
import { reads, rowId } from '../verbs/read.ts'
import { writes } from '../verbs/write.ts'

const description = z.string().min(1).max(20_000).describe('The text, as Markdown.')
const model = rowId.describe('The model it is about.')

export const aiModelDescriptions = resource({
  type: 'ai-model-descriptions',
  about: "What a model is like, in the caller's language or the default one.",
  table: 'ai_model_descriptions',
  coalesced: true,
  scope: visibleDescriptions,
  attributes: {
    aiModelId: attribute(z.int().describe('The id of the model.'), { column: 'model_id' }),
    locale: attribute(locale),
    description: attribute(description),
    ...timestamps,
  },
  relations: { model: one('ai-models', { column: 'model_id', alwaysVisible: true }) },
  sorts: ['locale'],
  page: cataloguePage,
})

export const aiModelDescriptionsRouter = router({
  ...reads(aiModelDescriptions),
  ...writes(aiModelDescriptions, {
    entity: AiModelDescription,
    body: 'long text',
    create: { model, locale, description },
    update: { model, locale, description },
    columns: (_, { model, ...given }) => ({ ...given, ...(model !== undefined && { model: Number(model) }) }),
  }),
})
