import { z } from 'zod'
import { AiModelDescription, visibleDescriptions } from '../../entities/catalogue/ai-model-description.ts'
import { router } from '../core/trpc.ts'
import { locale } from '../ports/locales.ts'
import { attribute, cataloguePage, defineResource, one, timestamps } from '../resource/declare.ts'
import { defineReads } from '../verbs/read.ts'
import { defineWrites } from '../verbs/write.ts'

export const aiModelDescriptions = defineResource({
  type: 'ai-model-descriptions',
  about: "Descriptions of models, in the caller's language or the default one.",
  entity: AiModelDescription,
  coalesced: true,
  scope: visibleDescriptions,
  attributes: {
    aiModelId: attribute(z.int().describe('The id of the model.'), { property: 'model' }),
    locale: attribute(locale, { write: true, sort: true }),
    description: attribute(z.string().min(1).max(20_000).describe('The text, as Markdown.'), { write: true }),
    ...timestamps,
  },
  relations: {
    model: one('ai-models', { write: true, about: 'The model that the text describes.', alwaysVisible: true }),
  },
  page: cataloguePage,
})

export const aiModelDescriptionsRouter = router({
  ...defineReads(aiModelDescriptions),
  ...defineWrites(aiModelDescriptions, { body: 'long text' }),
})
