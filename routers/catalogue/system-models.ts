import { z } from 'zod'
import { visibleModels, visibleSystemModels } from '../../entities/catalogue/scopes.ts'
import { SystemModel } from '../../entities/catalogue/system-model.ts'
import { usageTypes } from '../../entities/sql/columns.ts'
import { router } from '../core/trpc.ts'
import { attribute, cataloguePage, one, resource, timestamps } from '../resource/declare.ts'
import { reads, rowId } from '../verbs/read.ts'
import { writes } from '../verbs/write.ts'

const modelType = z
  .string()
  .trim()
  .min(1)
  .max(80)
  .describe('The task: `default`, `title_generation`, `prompt_improvement`, `summary`, or another word.')
const usageType = z.enum(usageTypes).describe('For the front end, or for programs.')
const model = rowId.describe('The model that does it.')

export const systemModels = resource({
  type: 'system-models',
  about: "Which model does which task. Programs get the front end's choice where there is none for them.",
  table: 'system_models',
  coalesced: true,
  scope: visibleSystemModels,
  attributes: {
    modelType: attribute(modelType),
    usageType: attribute(usageType),
    modelId: attribute(
      z.string().nullable().describe('The name of the model in requests; null where the caller may not use it.'),
      {
        sql: (assignment, sql) => {
          const m = sql.alias()
          return `(select ${m}.model_id from ai_models ${m} where ${m}.id = ${assignment}.model_id and ${visibleModels(m, sql)})`
        },
      },
    ),
    ...timestamps,
  },
  relations: { model: one('ai-models', { column: 'model_id' }) },
  includes: ['model', 'model.provider'],
  sorts: ['modelType'],
  page: cataloguePage,
})

export const systemModelsRouter = router({
  ...reads(systemModels),
  ...writes(systemModels, {
    entity: SystemModel,
    create: { modelType, usageType: usageType.default('main'), model },
    update: { modelType, usageType, model },
    columns: (_, { model, ...given }) => ({ ...given, ...(model !== undefined && { model: Number(model) }) }),
  }),
})
