import { z } from 'zod'
import { AiModel, demands, visibleModels } from '../../entities/catalogue/ai-model.ts'
import { visibleTools } from '../../entities/catalogue/ai-tool.ts'
import { availabilities } from '../../entities/sql/columns.ts'
import { router } from '../core/trpc.ts'
import { modalities } from '../ports/ai/model-config.ts'
import { isInCalendar, notInCalendar } from '../ports/days.ts'
import { attribute, cataloguePage, many, one, resource, sortedTimestamps, time } from '../resource/declare.ts'
import { reads } from '../verbs/read.ts'
import { writes } from '../verbs/write.ts'
import { distinct } from '../verbs/write-inputs.ts'
import { fallback, namesModels, namesNotItself } from './fallback.ts'
import { limits, parameters, settings } from './model-settings.ts'
import { modelUsageTypes } from './model-usage-types.ts'
import { pricing } from './pricing.ts'
import { someOf, text, webAddress } from './schemas.ts'

const words = z.array(z.string().trim().toLowerCase().min(1).max(80)).max(50).overwrite(distinct)

/** Always written; a new model has the value unless another is given. */
const written = <const D>(value: D) => ({ write: true, default: value }) as const

export const aiModels = resource({
  type: 'ai-models',
  about: 'AI models that can be asked.',
  entity: AiModel,
  coalesced: true,
  scope: visibleModels,
  streams: 'all',
  attributes: {
    active: attribute(z.boolean().describe('Whether it can be used.'), written(true)),
    modelId: attribute(text(200).describe('The name that requests use, unique.'), { write: true, sort: true }),
    upstreamId: attribute(text(200).nullable().describe("The provider's own name, where it differs."), {
      ...written(null),
      only: 'admin',
    }),
    modelType: attribute(
      z
        .string()
        .min(1)
        .max(40)
        .describe('What it makes: `chat`, `embedding`, `image_generation`, `video_generation`, or another word.'),
      written('chat'),
    ),
    label: attribute(text(200).describe('The name that people see.'), { write: true, sort: true }),
    input: attribute(someOf([...modalities, 'code']).describe('What it takes.'), written(['text'])),
    output: attribute(someOf([...modalities, 'code', 'thought']).describe('What it gives.'), written(['text'])),
    parameters,
    status: attribute(
      z
        .enum(availabilities)
        .describe('What the last status check found; `offline` also while the calls of its provider fail.'),
    ),
    demand: attribute(z.enum(demands).describe('How much it is asked for, as its provider said at the last check.')),
    nativeCapabilities: attribute(
      words.describe('What the provider itself can do for the model, such as `web_search` or `web_fetch`.'),
      written([]),
    ),
    settings,
    limits,
    pricing: attribute(
      pricing.nullable().describe('Costs per token, by the length of the input; null where nothing is known.'),
      written(null),
    ),
    flags: attribute(words.describe('Keys of `ai-model-flags`.'), written([])),
    documentationUrl: attribute(webAddress.nullable().describe('Where the model is described.'), written(null)),
    deprecationDate: attribute(
      time.refine(isInCalendar, notInCalendar).nullable().describe('When the provider will switch it off.'),
      written(null),
    ),
    fallback,
    usageTypes: modelUsageTypes,
    toolIds: attribute(z.array(z.int()).describe('The ids of its tools that are active.'), {
      sql: (m, sql) =>
        sql.list('ai_model_tools', 'tool_id', (link) => {
          const isSeen = sql.exists('ai_tools', (tool) => `${tool}.id = ${link}.tool_id and ${visibleTools(tool, sql)}`)
          return `${link}.model_id = ${m}.id and ${isSeen}`
        }),
    }),
    ...sortedTimestamps,
  },
  relations: {
    provider: one('ai-providers', { write: true, about: 'The provider that runs it.', alwaysVisible: true }),
    tools: many('ai-tools', { ...written([]), about: 'The tools it may call.' }),
    descriptions: many('ai-model-descriptions'),
  },
  includes: ['provider', 'tools', 'tools.server', 'descriptions'],
  page: cataloguePage,
})

export const aiModelsRouter = router({
  ...reads(aiModels),
  ...writes(aiModels, { validate: namesNotItself, afterFlush: namesModels }),
})
