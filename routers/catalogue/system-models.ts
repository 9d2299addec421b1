import { z } from 'zod'
import { SystemModel, visibleModelName, visibleSystemModels } from '../../entities/catalogue/system-model.ts'
import { router } from '../core/trpc.ts'
import { attribute, cataloguePage, defineResource, one, timestamps } from '../resource/declare.ts'
import { defineReads } from '../verbs/read.ts'
import { defineWrites } from '../verbs/write.ts'
import { task, taskUsage } from './schemas.ts'

export const systemModels = defineResource({
  type: 'system-models',
  about: "The models for each task. Programs get the front end's choice if there is none for them.",
  entity: SystemModel,
  coalesced: true,
  scope: visibleSystemModels,
  attributes: {
    modelType: attribute(task, { write: true, sort: true }),
    usageType: attribute(taskUsage, { write: true, default: 'main' }),
    modelId: attribute(
      z
        .string()
        .nullable()
        .describe('The name of the model in requests. It is null if the caller may not use the model.'),
      { sql: visibleModelName },
    ),
    ...timestamps,
  },
  relations: { model: one('ai-models', { write: true, about: 'The model for the task.' }) },
  includes: ['model', 'model.provider'],
  page: cataloguePage,
})

export const systemModelsRouter = router({ ...defineReads(systemModels), ...defineWrites(systemModels) })
