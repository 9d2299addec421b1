import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { availabilities, id, moment, timestamps } from '../sql/columns.ts'
import { allowedToGroups } from '../sql/groups.ts'
import { everyRowForAdmins, type SqlPredicate } from '../sql/scope.ts'
import { AiModelDescription } from './ai-model-description.ts'
import { AiProvider } from './ai-provider.ts'
import { AiTool } from './ai-tool.ts'

/** Named members belong to the service; all others are sent to the provider. */
export interface ModelParameters {
  temperature?: number | undefined
  topP?: number | undefined
  maxTokens?: number | undefined
  maxThinkingTokens?: number | undefined
  [name: string]: unknown
}

export const thinkingSteps = ['off', 'low', 'medium', 'high'] as const
type ThinkingStep = (typeof thinkingSteps)[number]

export interface ModelSettings {
  toolCalling?: boolean | undefined
  fileUpload?: boolean | undefined
  nativeCapabilities?: boolean | undefined
  maxToolCallingRounds?: number | undefined
  maxToolCallingRoundsStreaming?: number | undefined
  /** The steps of thinking that people may choose, `off` if it can be switched off. */
  thinking?: ThinkingStep[] | undefined
  /** True if reasoning comes between tags within the text; detected for some models if absent. */
  thinkTags?: boolean | undefined
}

export interface Limits {
  maxInputTokens?: number | null | undefined
  maxOutputTokens?: number | null | undefined
}

/** The price of a token for inputs within a range of token counts, and of tools that the provider runs itself. */
export interface PriceRange {
  currency: string
  inputCostPerToken: number | null
  inputCostPerCachedToken: number | null
  /** Price of writing to the provider's cache; falls back to the price of other input. */
  inputCostPerCacheWriteToken?: number | null | undefined
  outputCostPerToken: number | null
  outputCostPerReasoningToken: number | null
  costPerWebSearch?: number | null | undefined
  /** Price of a request that was answered by searches, however many. */
  costPerGroundedPrompt?: number | null | undefined
  costPerWebFetch?: number | null | undefined
  range: [from: number, to: number | null]
}

export type Pricing = { free: true } | { ranges: PriceRange[] | null; priorityRanges: null }

export const demands = ['low', 'medium', 'high'] as const

/**
 * Trigger of a model: keeps each price that a model is given, and each price under a new name, as a version in
 * `model_prices`. So every write of `pricing` or `model_id` adds one, whichever statement makes it.
 */
const keepPriceTrigger = `
  if (tg_op = 'INSERT' and new.pricing is not null)
    or (tg_op = 'UPDATE' and (old.pricing, old.model_id) is distinct from (new.pricing, new.model_id)) then
    insert into model_prices (model, pricing) values (new.model_id, new.pricing);
  end if;
  return null;`

export const AiModel = defineEntity({
  name: 'AiModel',
  tableName: 'ai_models',
  triggers: [
    {
      name: 'keep_price',
      timing: 'after',
      events: ['insert', 'update'],
      body: keepPriceTrigger,
    },
  ],
  properties: {
    id,
    ...timestamps,
    provider: () => p.manyToOne(AiProvider).deleteRule('cascade').index().ref(),
    /** The name that requests use. */
    modelId: p.string().length(200).unique(),
    /** The provider's own name for it, if it differs. */
    upstreamId: p.string().length(200).nullable(),
    modelType: p.string().length(40).default('chat'),
    label: p.string().length(200),
    active: p.boolean().default(true),
    status: p.enum(availabilities).default('unknown'),
    demand: p.enum(demands).default('low'),
    input: p.array().defaultRaw(`'{text}'`),
    output: p.array().defaultRaw(`'{text}'`),
    nativeCapabilities: p.array().defaultRaw(`'{}'`),
    /** Names of the fallback models, in order. */
    fallback: p.array().defaultRaw(`'{}'`),
    parameters: p.json<ModelParameters>().nullable(),
    settings: p.json<ModelSettings>().nullable(),
    limits: p.json<Limits>().nullable(),
    pricing: p.json<Pricing>().nullable(),
    flags: p.array().defaultRaw(`'{}'`),
    /** Groups that may use it; everybody if empty. */
    groups: p.array().defaultRaw(`'{}'`),
    documentationUrl: p.string().length(2048).nullable(),
    /** The position among the models: the smallest comes first, models without one come last. */
    position: p.integer().nullable(),
    /** The end of the model at its provider. */
    deprecationDate: moment().nullable(),
    /** The name of the model that follows it after its end. */
    successor: p.string().length(200).nullable(),
    /** True if the successor answers requests that name it after its end. */
    redirect: p.boolean().default(false),
    synced: p.json<Record<string, unknown>>().nullable().hidden(),
    tools: () =>
      p.manyToMany(AiTool).pivotTable('ai_model_tools').owner().joinColumn('model_id').inverseJoinColumn('tool_id'),
    descriptions: () => p.oneToMany(AiModelDescription).mappedBy('model'),
  },
})
export type AiModel = InferEntity<typeof AiModel>

/** Active models of active providers that the caller's usage type, groups and token may use. */
export const visibleModels = everyRowForAdmins(
  (model, sql) => `${model}.active
    and ${sql.exists('ai_providers', (p) => `${p}.id = ${model}.provider_id and ${p}.active and ${allowedToGroups(p, sql)}`)}
    and ${allowedToGroups(model, sql)} and ${allowedToUsage(model, sql)} and ${allowedToToken(model, sql)}`,
)

/** SQL: the caller's token is bound to no models, or to this one. */
const allowedToToken: SqlPredicate = (model, sql) =>
  `(${sql.param('models')} is null or ${model}.model_id = any(${sql.param('models')}))`

/** SQL: the caller's usage type may use the model. */
export const allowedToUsage: SqlPredicate = (model, sql) =>
  sql.exists('ai_model_usage_rules', (u) => `${u}.model_id = ${model}.id and ${u}.usage_type = ${sql.param('usage')}`)
