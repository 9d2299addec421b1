import { z } from 'zod'
import { visibleModels, visibleSystemModels } from '../../entities/catalogue/scopes.ts'
import { SystemModel } from '../../entities/catalogue/system-model.ts'
import { router } from '../core/trpc.ts'
import { attribute, cataloguePage, one, resource, timestamps } from '../resource/declare.ts'
import { reads } from '../verbs/read.ts'
import { writes } from '../verbs/write.ts'
import { task, taskUsage } from './schemas.ts'

const modelId = z
  .string()
  .nullable()
  .describe('The name of the model in requests; null where the caller may not use it.')

export const systemModels = resource({
  type: 'system-models',
  about: "Which model does which task. Programs get the front end's choice where there is none for them.",
  entity: SystemModel,
  coalesced: true,
  scope: visibleSystemModels,
  attributes: {
    modelType: attribute(task, { write: true, sort: true }),
    usageType: attribute(taskUsage, { write: true, default: 'main' }),
    modelId: attribute(modelId, {
      sql: (row, sql) =>
        sql.look('ai_models', 'model_id', (m) => `${m}.id = ${row}.model_id and ${visibleModels(m, sql)}`),
    }),
    ...timestamps,
  },
  relations: { model: one('ai-models', { write: true, about: 'The model that does it.' }) },
  includes: ['model', 'model.provider'],
  page: cataloguePage,
})

export const systemModelsRouter = router({ ...reads(systemModels), ...writes(systemModels) })
