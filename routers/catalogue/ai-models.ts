import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { AiModel, demands, visibleModels } from '../../entities/catalogue/ai-model.ts'
import { AiModelUsageRule } from '../../entities/catalogue/ai-model-usage-rule.ts'
import { visibleTools } from '../../entities/catalogue/ai-tool.ts'
import { availabilities, usageTypes } from '../../entities/sql/columns.ts'
import type { Context } from '../core/context.ts'
import { type Issue, Problem } from '../core/problems.ts'
import { assertMayActSensitively, router } from '../core/trpc.ts'
import { modalities, modelParameters, modelPosition, modelSettings } from '../ports/ai/model-config.ts'
import { calendarMessage, isInCalendar } from '../ports/days.ts'
import { removeDuplicates } from '../ports/remove-duplicates.ts'
import { webAddress } from '../ports/web-address.ts'
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
import { pricing } from './pricing.ts'
import { groupList, text, toSubset } from './schemas.ts'

const optionalField = { write: true, default: null } as const

const aboutParameters =
  'The parameters that are set in each request to the provider. `maxThinkingTokens` lets models of the kinds `anthropic` and `google` think ' +
  'for at most so many tokens and half of the answer; models of `anthropic` think only without tools. ' +
  "Any other member is copied into the body of the request, in the spelling of the provider's API: `seed`, `top_k`, `reasoning_effort`."

const parameters = attribute(modelParameters.nullable().describe(aboutParameters), optionalField)

const aboutSettings =
  'The settings for tools and files; those that are not set are absent. The model gets no tools if `toolCalling` is false. It must answer ' +
  'after 5 rounds of tool calls, or the number that is set here. `fileUpload` and `nativeCapabilities` tell front ends which features to ' +
  'offer; the service refuses those that are false. `thinking` names the steps that front ends offer: `low`, `medium`, `high`, and `off` if ' +
  "thinking can be switched off. A server of OpenAI's protocol then gets `enable_thinking: false` for its chat template."

const settings = attribute(modelSettings.nullable().describe(aboutSettings), optionalField)

const tokens = z.number().int().positive()
const bounds = z.strictObject({ maxInputTokens: tokens.nullish(), maxOutputTokens: tokens.nullish() }).nullable()

const limits = attribute(
  bounds.describe('The largest input and output of the model, in tokens. No request asks for a longer answer.'),
  optionalField,
)

/** Usage types that may use a model, each as a row of a table of its own. */
const modelUsageTypes = attribute(toSubset(usageTypes).describe('The usage types that may use the model.'), {
  write: true,
  default: ['main'],
  only: 'admin',
  sql: (m, sql) =>
    sql.selectArray('ai_model_usage_rules', 'usage_type', (rule) => `${rule}.model_id = ${m}.id`, 'desc'),
  save: writeUsageRules,
})

async function writeUsageRules({ em, id }: AttributeWrite, requestedTypes: unknown): Promise<void> {
  const usageTypesToKeep = usageTypes.filter((usageType) => (requestedTypes as string[]).includes(usageType))
  const rules = usageTypesToKeep.map((usageType) => ({ model: id, usageType }))
  await em.nativeDelete(AiModelUsageRule, { model: id })
  await em.insertMany(AiModelUsageRule, rules)
}

const aboutFallback =
  'The names of up to five models that answer if the provider cannot, in this order. A model is asked only if the caller may use it ' +
  'and it accepts the whole question. Its own `fallback` is ignored then, so two models may name each other.'

/** The names of models, as requests use them. */
const fallback = attribute(z.array(text(200)).max(5).overwrite(removeDuplicates).describe(aboutFallback), {
  write: true,
  default: [],
  only: 'admin',
})

type Model = Pick<AiModel, 'modelId' | 'fallback' | 'successor' | 'redirect'>

/** Finds what contradicts itself in a model: one that takes its own place, or a redirect to no model. */
const findContradictions = (row: Record<string, unknown>, change?: RowUpdate): Issue[] => [
  ...findSelfFallback(row as Model, change),
  ...findSuccessorIssues(row as Model),
]

function findSuccessorIssues({ modelId, successor, redirect }: Model): Issue[] {
  if (successor === modelId) return [{ path: ['successor'], message: 'must name another model' }]
  return redirect && !successor ? [{ path: ['redirect'], message: 'must be false without a successor' }] : []
}

/** Finds a model that names itself as fallback, also after it is renamed. */
function findSelfFallback({ modelId, fallback }: Model, change?: RowUpdate): Issue[] {
  if (!fallback?.includes(modelId)) return []
  const isRenamed = change !== undefined && change.input['fallback'] === undefined
  return isRenamed
    ? [{ path: ['modelId'], message: 'must not be a name in its own fallback' }]
    : [{ path: ['fallback'], message: 'must name other models' }]
}

/** Throws if a fallback or the successor does not exist. Those that are deleted later are skipped. */
async function assertModelsExist({ em, input }: Pick<WrittenRow, 'em' | 'input'>): Promise<void> {
  const { fallback = [], successor } = input as Partial<Model>
  const named = fallback.map((name, at) => ({ name, path: ['fallback', at] as Issue['path'] }))
  if (successor) named.push({ name: successor, path: ['successor'] })
  if (named.length === 0) return
  const knownNames = new Set(
    await findModelNames(
      em,
      named.map(({ name }) => name),
    ),
  )
  const issues = named.flatMap(({ name, path }) =>
    knownNames.has(name) ? [] : [{ path, message: 'there is no model with this name' }],
  )
  if (issues.length > 0) throw new Problem('invalid', { issues })
}

const findModelNames = async (em: EntityManager, names: string[]) =>
  (await em.find(AiModel, { modelId: names }, { fields: ['modelId'] })).map(({ modelId }) => modelId)

/**
 * Throws if a sensitive act is needed because the model lets people in whom every other model of the same name at the
 * provider keeps out: its groups would mean nothing then.
 */
async function assertMayOpenModel(ctx: Context, { em, row, input }: WrittenRow): Promise<void> {
  if (!['modelId', 'upstreamId', 'provider'].some((name) => name in input)) return
  const model = row as AiModel
  const upstreamId = model.upstreamId ?? model.modelId
  const others = await em.find(
    AiModel,
    {
      provider: model.provider,
      id: { $ne: model.id },
      $or: [{ upstreamId }, { upstreamId: null, modelId: upstreamId }],
    },
    { fields: ['groups'] },
  )
  const admitsAll = ({ groups }: Pick<AiModel, 'groups'>) =>
    groups.length === 0 || (model.groups.length > 0 && model.groups.every((group) => groups.includes(group)))
  if (others.length > 0 && !others.some(admitsAll)) assertMayActSensitively(ctx)
}

const keywords = z.array(z.string().trim().toLowerCase().min(1).max(80)).max(50).overwrite(removeDuplicates)

/** Returns the options of a writable attribute with a default. */
const writableWithDefault = <const D>(value: D) => ({ write: true, default: value }) as const

export const aiModels = defineResource({
  type: 'ai-models',
  about: 'The AI models that can be asked.',
  entity: AiModel,
  coalesced: true,
  scope: visibleModels,
  streams: 'all',
  attributes: {
    active: attribute(z.boolean().describe('True if the model can be used.'), writableWithDefault(true)),
    modelId: attribute(text(200).describe('The unique name of the model in requests.'), { write: true, sort: true }),
    upstreamId: attribute(text(200).nullable().describe("The provider's own name of the model, if it differs."), {
      ...writableWithDefault(null),
      only: 'admin',
    }),
    modelType: attribute(
      z
        .string()
        .min(1)
        .max(40)
        .describe(
          'The output of the model: `chat`, `embedding`, `image_generation`, `video_generation`, or another word.',
        ),
      writableWithDefault('chat'),
    ),
    label: attribute(text(200).describe('The name that people see.'), { write: true, sort: true }),
    input: attribute(
      toSubset([...modalities, 'code']).describe('The kinds of input that the model accepts.'),
      writableWithDefault(['text']),
    ),
    output: attribute(
      toSubset([...modalities, 'code', 'thought']).describe('The kinds of output that the model produces.'),
      writableWithDefault(['text']),
    ),
    parameters,
    status: attribute(
      z
        .enum(availabilities)
        .describe('The result of the last status check. It is `offline` also while calls of its provider fail.'),
    ),
    demand: attribute(
      z.enum(demands).describe('The demand for the model, as its provider reported at the last check.'),
    ),
    nativeCapabilities: attribute(
      keywords.describe('The tools of the provider that the model can use, such as `web_search` or `web_fetch`.'),
      writableWithDefault([]),
    ),
    settings,
    limits,
    // `keepPriceTrigger` keeps each price that is written here, as calls refer to the version that they were billed by.
    pricing: attribute(
      pricing
        .nullable()
        .describe('The prices per token, by the length of the input. They are null if nothing is known.'),
      writableWithDefault(null),
    ),
    flags: attribute(keywords.describe("The keys of the model's `ai-model-flags`."), writableWithDefault([])),
    documentationUrl: attribute(
      webAddress.nullable().describe('The address of a page that describes the model.'),
      writableWithDefault(null),
    ),
    deprecationDate: attribute(
      time
        .refine(isInCalendar, calendarMessage)
        .nullable()
        .describe('The day on which the provider will shut down the model.'),
      writableWithDefault(null),
    ),
    successor: attribute(
      text(200)
        .nullable()
        .describe(
          'The name of the model that follows it from `deprecationDate` on. It is null if none does, or if the caller may not use that model.',
        ),
      {
        ...optionalField,
        sql: (m, sql) =>
          sql.selectColumn(
            'ai_models',
            'model_id',
            (next) => `${next}.model_id = ${m}.successor and ${visibleModels(next, sql)}`,
          ),
      },
    ),
    redirect: attribute(
      z
        .boolean()
        .describe(
          'True if, from `deprecationDate` on, the successor answers requests that name the model. Such answers have the header `x-answered-by`. Questions in rooms are never redirected.',
        ),
      { ...writableWithDefault(false), only: 'admin' },
    ),
    position: attribute(
      modelPosition
        .nullable()
        .describe('The position in lists of models. The smallest number comes first; models without one come last.'),
      { ...writableWithDefault(null), sort: true },
    ),
    fallback,
    groups: attribute(
      groupList.describe(
        'The groups whose people may use the model. If empty, everybody may. Only these people and administrators see it.',
      ),
      { ...writableWithDefault([]), sensitive: true, only: 'admin' },
    ),
    usageTypes: modelUsageTypes,
    toolIds: attribute(z.array(z.int()).describe("The ids of the model's active tools."), {
      sql: (m, sql) =>
        sql.selectArray('ai_model_tools', 'tool_id', (link) => {
          const isSeen = sql.exists('ai_tools', (tool) => `${tool}.id = ${link}.tool_id and ${visibleTools(tool, sql)}`)
          return `${link}.model_id = ${m}.id and ${isSeen}`
        }),
    }),
    ...sortedTimestamps,
  },
  relations: {
    provider: one('ai-providers', { write: true, about: 'The provider that runs the model.', alwaysVisible: true }),
    tools: many('ai-tools', { ...writableWithDefault([]), about: 'The tools that the model may call.' }),
    descriptions: many('ai-model-descriptions'),
  },
  includes: ['provider', 'tools', 'tools.server', 'descriptions'],
  page: cataloguePage,
})

export const aiModelsRouter = router({
  ...defineReads(aiModels),
  ...defineWrites(aiModels, {
    validate: findContradictions,
    async afterFlush(written, ctx) {
      await assertModelsExist(written)
      await assertMayOpenModel(ctx, written)
    },
  }),
})
