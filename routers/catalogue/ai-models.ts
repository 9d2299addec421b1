import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { AiModel, demands, visibleModels } from '../../entities/catalogue/ai-model.ts'
import { AiModelUsageRule } from '../../entities/catalogue/ai-model-usage-rule.ts'
import { visibleTools } from '../../entities/catalogue/ai-tool.ts'
import { availabilities, usageTypes } from '../../entities/sql/columns.ts'
import { type Issue, Problem } from '../core/problems.ts'
import { router } from '../core/trpc.ts'
import { modalities, modelParameters, modelPosition, modelSettings } from '../ports/ai/model-config.ts'
import { calendarMessage, isInCalendar } from '../ports/days.ts'
import {
  type AttributeWrite,
  attribute,
  cataloguePage,
  defineResource,
  many,
  one,
  sortedTimestamps,
  time,
} from '../resource/declare.ts'
import { defineReads } from '../verbs/read.ts'
import { defineWrites, type RowUpdate, type WrittenRow } from '../verbs/write.ts'
import { removeDuplicates } from '../verbs/write-inputs.ts'
import { pricing } from './pricing.ts'
import { text, toSubset, usingGroups, webAddress } from './schemas.ts'

const unset = { write: true, default: null } as const

const aboutParameters =
  'What each request to the provider says; only what is set. `maxThinkingTokens` lets models of the kinds `anthropic` and `google` think, ' +
  'at most so much and for at most half of the answer; `anthropic` only where no tools are offered. ' +
  "Any other member goes into the body of the request as it is, in the spelling of the provider's API: `seed`, `top_k`, `reasoning_effort`."

const parameters = attribute(modelParameters.nullable().describe(aboutParameters), unset)

const aboutSettings =
  'How tools and files are used; only what is set. No tools are offered where `toolCalling` is false, and a model must answer after 5 rounds ' +
  'of tool calls, or as many as are set here. `fileUpload` and `nativeCapabilities` tell front ends what to offer; what is false is refused.'

const settings = attribute(modelSettings.nullable().describe(aboutSettings), unset)

const tokens = z.number().int().positive()
const bounds = z.strictObject({ maxInputTokens: tokens.nullish(), maxOutputTokens: tokens.nullish() }).nullable()

const limits = attribute(
  bounds.describe('How much it takes and gives at most; no request asks for a longer answer.'),
  unset,
)

/** Which usage types may use a model: each has a row of its own, in a table beside. */
const modelUsageTypes = attribute(toSubset(usageTypes).describe('The usage types that may use it.'), {
  write: true,
  default: ['main'],
  only: 'admin',
  sql: (m, sql) =>
    sql.selectArray('ai_model_usage_rules', 'usage_type', (rule) => `${rule}.model_id = ${m}.id`, 'desc'),
  save: allow,
})

async function allow({ em, id }: AttributeWrite, allowed: unknown): Promise<void> {
  const kept = usageTypes.filter((usageType) => (allowed as string[]).includes(usageType))
  const rules = kept.map((usageType) => ({ model: id, usageType }))
  await em.nativeDelete(AiModelUsageRule, { model: id })
  await em.insertMany(AiModelUsageRule, rules)
}

const about =
  'Names of up to five models that answer where its provider cannot, in their order. One is asked only where the caller may use it ' +
  'and it takes all of the question; its own `fallback` does not count then, so two models may name each other.'

/** The names of models, as requests use them. */
const fallback = attribute(z.array(text(200)).max(5).overwrite(removeDuplicates).describe(about), {
  write: true,
  default: [],
  only: 'admin',
})

type Model = Pick<AiModel, 'modelId' | 'fallback'>

/** A model that is renamed is not to get the name of one that stands in for it, either. */
function namesNotItself(row: Record<string, unknown>, change?: RowUpdate): Issue[] {
  const { modelId, fallback } = row as Model
  if (!fallback?.includes(modelId)) return []
  const isRenamed = change !== undefined && change.input['fallback'] === undefined
  return isRenamed
    ? [{ path: ['modelId'], message: 'must not be a name in its own fallback' }]
    : [{ path: ['fallback'], message: 'must name other models' }]
}

/** Refuses names that no model has. One that is lost later is passed over. */
async function namesModels({ em, input }: Pick<WrittenRow, 'em' | 'input'>): Promise<void> {
  const names = input['fallback'] as string[] | undefined
  if (!names?.length) return
  const known = new Set(await knownNames(em, names))
  const issues = names.flatMap((name, at) =>
    known.has(name) ? [] : [{ path: ['fallback', at], message: 'there is no model with this name' }],
  )
  if (issues.length > 0) throw new Problem('invalid', { issues })
}

const knownNames = async (em: EntityManager, names: string[]) =>
  (await em.find(AiModel, { modelId: names }, { fields: ['modelId'] })).map(({ modelId }) => modelId)

const words = z.array(z.string().trim().toLowerCase().min(1).max(80)).max(50).overwrite(removeDuplicates)

/** Always written; a new model has the value unless another is given. */
const written = <const D>(value: D) => ({ write: true, default: value }) as const

export const aiModels = defineResource({
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
    input: attribute(toSubset([...modalities, 'code']).describe('What it takes.'), written(['text'])),
    output: attribute(toSubset([...modalities, 'code', 'thought']).describe('What it gives.'), written(['text'])),
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
      time.refine(isInCalendar, calendarMessage).nullable().describe('When the provider will switch it off.'),
      written(null),
    ),
    position: attribute(
      modelPosition
        .nullable()
        .describe('Its place among the models: the smallest number comes first, and those without one come last.'),
      { ...written(null), sort: true },
    ),
    fallback,
    groups: attribute(
      usingGroups.describe(
        'The groups whose people may use it; everybody where empty. Nobody else sees it, but administrators.',
      ),
      { ...written([]), only: 'admin' },
    ),
    usageTypes: modelUsageTypes,
    toolIds: attribute(z.array(z.int()).describe('The ids of its tools that are active.'), {
      sql: (m, sql) =>
        sql.selectArray('ai_model_tools', 'tool_id', (link) => {
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
  ...defineReads(aiModels),
  ...defineWrites(aiModels, { validate: namesNotItself, afterFlush: namesModels }),
})
