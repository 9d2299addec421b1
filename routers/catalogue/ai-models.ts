import type { EntityManager } from '@mikro-orm/core'
import { z } from 'zod'
import { AiModel } from '../../entities/catalogue/ai-model.ts'
import { AiModelUsageRule } from '../../entities/catalogue/ai-model-usage-rule.ts'
import { visibleModels, visibleTools } from '../../entities/catalogue/scopes.ts'
import { availabilities, usageTypes } from '../../entities/sql/columns.ts'
import { isoTime } from '../../entities/sql/statement.ts'
import { router } from '../core/trpc.ts'
import { modalities, modelParameters, modelSettings } from '../ports/model-config.ts'
import { attribute, cataloguePage, many, one, resource, timestamps } from '../resource/declare.ts'
import { reads, rowId } from '../verbs/read.ts'
import { writes } from '../verbs/write.ts'
import { pricing as price } from './pricing.ts'

const tokens = z.number().int().positive()
const distinct = <T>(list: T[]): T[] => [...new Set(list)]
const words = z.array(z.string().trim().toLowerCase().min(1).max(80)).max(50).overwrite(distinct)
/** Of input, output or use, also where some come twice. */
const MAX_KINDS = 20

const modelId = z.string().trim().min(1).max(200).describe('The name that requests use, unique.')
const upstreamId = z.string().trim().min(1).max(200).nullable().describe("The provider's own name, where it differs.")
const modelType = z
  .string()
  .min(1)
  .max(40)
  .describe('What it makes: `chat`, `image_generation`, `video_generation`, or another word.')
const label = z.string().trim().min(1).max(200).describe('The name that people see.')
const active = z.boolean().describe('Whether it can be used.')
const input = z
  .array(z.enum([...modalities, 'code']))
  .max(MAX_KINDS)
  .overwrite(distinct)
  .describe('What it takes.')
const output = z
  .array(z.enum([...modalities, 'code', 'thought']))
  .max(MAX_KINDS)
  .overwrite(distinct)
  .describe('What it gives.')
const parameters = modelParameters
  .nullable()
  .describe(
    'What each request to the provider says; only what is set. `maxThinkingTokens` lets models of the kinds `anthropic` and `google` think, ' +
      'at most so much and for at most half of the answer; `anthropic` only where no tools are offered. ' +
      "Any other member goes into the body of the request as it is, in the spelling of the provider's API: `seed`, `top_k`, `reasoning_effort`.",
  )
const settings = modelSettings
  .nullable()
  .describe(
    'How tools and files are used; only what is set. No tools are offered where `toolCalling` is false, and a model must answer after 5 rounds ' +
      'of tool calls, or as many as are set here. `fileUpload` and `nativeCapabilities` tell front ends what to offer.',
  )
const nativeCapabilities = words.describe('What the provider itself can do for the model, such as `web_search`.')
const flags = words.describe('Keys of `ai-model-flags`.')
const limits = z
  .strictObject({ maxInputTokens: tokens.nullish(), maxOutputTokens: tokens.nullish() })
  .nullable()
  .describe('How much it takes and gives at most; no request asks for a longer answer.')
const pricing = price.nullable().describe('Costs per token, by the length of the input; null where nothing is known.')
const documentationUrl = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  .nullable()
  .describe('Where the model is described.')
const deprecationDate = z.iso.datetime({ precision: 3 }).nullable().describe('When the provider will switch it off.')
const usage = z
  .array(z.enum(usageTypes))
  .max(MAX_KINDS)
  .overwrite(distinct)
  .describe('The usage types that may use it.')

export const aiModels = resource({
  type: 'ai-models',
  about: 'AI models that can be asked.',
  table: 'ai_models',
  coalesced: true,
  scope: visibleModels,
  attributes: {
    active: attribute(active),
    modelId: attribute(modelId),
    upstreamId: attribute(upstreamId, { only: 'admin' }),
    modelType: attribute(modelType),
    label: attribute(label),
    input: attribute(input),
    output: attribute(output),
    parameters: attribute(parameters),
    status: attribute(z.enum(availabilities).describe('What the last status check found.')),
    nativeCapabilities: attribute(nativeCapabilities),
    settings: attribute(settings),
    limits: attribute(limits),
    pricing: attribute(pricing),
    flags: attribute(flags),
    documentationUrl: attribute(documentationUrl),
    deprecationDate: attribute(deprecationDate, { sql: (m) => isoTime(`${m}.deprecation_date`) }),
    usageTypes: attribute(usage, {
      only: 'admin',
      sql: (m, sql) => {
        const rule = sql.alias()
        return `array(select ${rule}.usage_type from ai_model_usage_rules ${rule} where ${rule}.model_id = ${m}.id order by 1 desc)`
      },
    }),
    toolIds: attribute(z.array(z.int()).describe('The ids of its tools that are active.'), {
      sql: (m, sql) => {
        const [link, tool] = [sql.alias(), sql.alias()]
        return `array(select ${link}.tool_id from ai_model_tools ${link} join ai_tools ${tool} on ${tool}.id = ${link}.tool_id
                where ${link}.model_id = ${m}.id and ${visibleTools(tool, sql)} order by 1)`
      },
    }),
    ...timestamps,
  },
  relations: {
    provider: one('ai-providers', { column: 'provider_id', alwaysVisible: true }),
    tools: many('ai-tools', { through: 'ai_model_tools', from: 'model_id', to: 'tool_id' }),
    descriptions: many('ai-model-descriptions', { inverse: 'model_id' }),
  },
  includes: ['provider', 'tools', 'tools.server', 'descriptions'],
  sorts: ['modelId', 'label', 'createdAt', 'updatedAt'],
  page: cataloguePage,
})

const provider = rowId.describe('The provider that runs it.')
const tools = z.array(rowId).max(200).overwrite(distinct).describe('The tools it may call.')
const members = {
  ...{
    modelId,
    modelType,
    label,
    active,
    input,
    output,
    parameters,
    settings,
    nativeCapabilities,
    flags,
    limits,
    pricing,
  },
  ...{ upstreamId, documentationUrl, deprecationDate, usageTypes: usage, provider, tools },
}

export const aiModelsRouter = router({
  ...reads(aiModels),
  ...writes(aiModels, {
    entity: AiModel,
    create: {
      ...members,
      ...{ modelType: modelType.default('chat'), active: active.default(true), upstreamId: upstreamId.default(null) },
      ...{ input: input.default(['text']), output: output.default(['text']), tools: tools.default([]) },
      ...{ parameters: parameters.default(null), settings: settings.default(null), limits: limits.default(null) },
      ...{
        nativeCapabilities: nativeCapabilities.default([]),
        flags: flags.default([]),
        pricing: pricing.default(null),
      },
      ...{ documentationUrl: documentationUrl.default(null), deprecationDate: deprecationDate.default(null) },
      usageTypes: usage.default(['main']),
    },
    update: members,
    columns: (_, { usageTypes: _elsewhere, provider, tools, deprecationDate, ...given }) => ({
      ...given,
      ...(provider !== undefined && { provider: Number(provider) }),
      ...(tools !== undefined && { tools: (tools as string[]).map(Number) }),
      ...(deprecationDate !== undefined && { deprecationDate: deprecationDate && new Date(String(deprecationDate)) }),
    }),
    beside: async (em, id, { usageTypes }) => {
      if (usageTypes) await allow(em, id, usageTypes as string[])
    },
  }),
})

async function allow(em: EntityManager, id: number, allowed: readonly string[]): Promise<void> {
  await em.nativeDelete(AiModelUsageRule, { model: id })
  const rules = usageTypes
    .filter((usageType) => allowed.includes(usageType))
    .map((usageType) => ({ model: id, usageType }))
  await em.insertMany(AiModelUsageRule, rules)
}
