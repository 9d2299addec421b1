import { defineEntity, p } from '@mikro-orm/core'
import { bestMatch, preferLanguage } from '../sql/best-match.ts'
import { id, timestamps } from '../sql/columns.ts'
import { everyRowForAdmins } from '../sql/scope.ts'
import { AiModel, visibleModels } from './ai-model.ts'

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

/** Descriptions of visible models, in the caller's language or else the default language. */
export const visibleDescriptions = everyRowForAdmins(
  (
    description,
    sql,
  ) => `${sql.exists('ai_models', (m) => `${m}.id = ${description}.model_id and ${visibleModels(m, sql)}`)}
      and ${bestMatch('ai_model_descriptions', 'model_id', [preferLanguage])(description, sql)}`,
)
