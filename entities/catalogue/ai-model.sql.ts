import { isForGroups } from '../sql/groups.ts'
import { coalescedStatement, statement } from '../sql/statement.ts'
import type { Limits, ModelParameters, ModelSettings, Pricing } from './ai-model.ts'
import type { ProviderSettings } from './ai-provider.ts'
import { type CallableToolRow, callableTool, isCallable } from './ai-tool.sql.ts'
import { catalogueVersion } from './catalogue-version.sql.ts'

export interface CallableModelRow {
  /** Catalogue version of the cached model; null if it was read for this call. */
  catalogue: number | null
  id: number
  modelId: string
  upstreamId: string | null
  /** Input types beside text: `image`, `audio`, `video`. */
  input: string[]
  parameters: ModelParameters | null
  settings: ModelSettings | null
  limits: Limits | null
  pricing: Pricing | null
  /** The version of the price. */
  priceId: number | null
  providerId: string
  /** Capabilities of the provider itself, set by its administrator. */
  nativeCapabilities: string[]
  adapter: string
  apiUrl: string | null
  /** Sealed. */
  apiKey: string | null
  /** Servers beside the provider's own address and key. */
  servers: FurtherServerRow[]
  providerSettings: ProviderSettings
  /** Names of the fallback models. */
  fallback: string[]
  /** The model that answers in its place from a moment on, in milliseconds since 1970; null if none does. */
  redirect: { to: string; from: number } | null
  /** Groups that may use the model, and groups that may use the provider; everybody if empty. */
  groups: string[]
  providerGroups: string[]
  tools: CallableToolRow[]
}

interface FurtherServerRow {
  apiUrl: string
  /** Sealed. */
  apiKey: string | null
}

/** SQL for further servers of a provider, their keys sealed. */
const furtherServers = `to_json(array(
    select json_build_object('apiUrl', f.api_url, 'apiKey', f.api_key)
      from provider_servers f where f.provider_id = p.id order by f.id)) as servers`

/** SQL for the model that answers in its place after its end. */
const redirect = `case when m.redirect and m.successor is not null and m.deprecation_date is not null
           then json_build_object('to', m.successor, 'from', extract(epoch from m.deprecation_date)::float8 * 1000)
         end as redirect`

/** SQL for the parameters: the provider's defaults, overridden by the model's. */
const parameters = `case when m.model_type = 'chat'
           then nullif(coalesce(p.settings->'parameters', '{}') || coalesce(m.parameters, '{}'), '{}')
           else m.parameters end as parameters`

const columns = `${catalogueVersion}::float8 as catalogue, m.id, m.model_id as "modelId", m.upstream_id as "upstreamId", to_json(m.input) as input, ${parameters}, m.settings, m.limits,
          m.pricing, (select max(id) from model_prices where model = m.model_id) as "priceId",
          p.provider_id as "providerId", p.adapter, p.api_url as "apiUrl", p.api_key as "apiKey",
          to_json(m.native_capabilities) as "nativeCapabilities", ${furtherServers}, to_json(m.fallback) as fallback, ${redirect}, to_json(m.groups) as groups, to_json(p.groups) as "providerGroups", p.settings as "providerSettings"`

/** SQL for the tools that a model may call now. */
const callableTools = `to_json(array(
    select ${callableTool('t', 's')}
      from ai_model_tools mt join ai_tools t on t.id = mt.tool_id left join mcp_servers s on s.id = t.server_id
     where mt.model_id = m.id and ${isCallable('t', 's')} order by t.id))`

/** Values: the model's name in requests, the usage type, and the model type. */
export const findCallableModel = coalescedStatement<CallableModelRow>(
  'find-callable-model',
  `select ${columns},
          ${callableTools} as tools
     from ai_models m join ai_providers p on p.id = m.provider_id
     join ai_model_usage_rules r on r.model_id = m.id and r.usage_type = $2
    where m.model_id = $1 and m.active and p.active and m.model_type = $3`,
)

export interface OfferedModel {
  modelId: string
  label: string
  modelType: 'chat' | 'embedding'
  provider: string
  /** In seconds since 1970. */
  created: number
}

/** SQL: models `m` of providers `p` that requests may name. Takes placeholders of the usage type, and of groups or null for all. */
export const offeredModels = (usage: string, groups: string) =>
  `ai_models m join ai_providers p on p.id = m.provider_id
     join ai_model_usage_rules r on r.model_id = m.id and r.usage_type = ${usage}
    where m.active and p.active and m.model_type in ('chat', 'embedding')
      and ${isForGroups('m', groups)} and ${isForGroups('p', groups)}`

/**
 * Lists the models that requests may name. Values: the usage type, the groups of the caller, or null for all, and the names
 * to which a token is bound, or null for all.
 */
export const listOfferedModels = statement<OfferedModel>(
  'list-offered-models',
  `select m.model_id as "modelId", m.label, m.model_type as "modelType", p.provider_id as provider,
          extract(epoch from m.created_at)::int as created
     from ${offeredModels('$1', '$2::text[]')} and ($3::text[] is null or m.model_id = any($3::text[]))
    order by m.id limit 1000`,
)

export interface CheckableModel extends CallableModelRow {
  modelStatusUrl: string | null
}

/** Lists all active models for status checks. */
export const listCheckableModels = statement<CheckableModel>(
  'list-checkable-models',
  `select ${columns}, '[]'::json as tools, p.model_status_url as "modelStatusUrl"
     from ai_models m join ai_providers p on p.id = m.provider_id
    where m.active and p.active order by p.id, m.id`,
)

export interface ModelSummary {
  modelId: string
  label: string
  provider: string
  adapter: string
  modelType: string
  active: boolean
  status: 'online' | 'offline' | 'unknown'
  external: boolean
  /** Groups that may use the model, and groups that may use the provider; everybody if empty. */
  groups: string[]
  providerGroups: string[]
}

export const listModels = statement<ModelSummary>(
  'list-models',
  `select m.model_id as "modelId", m.label, p.provider_id as provider, p.adapter, m.model_type as "modelType",
          m.active and p.active as active, m.status, exists (select from ai_model_usage_rules r where r.model_id = m.id and r.usage_type = 'external')
            as external, to_json(m.groups) as groups, to_json(p.groups) as "providerGroups"
     from ai_models m join ai_providers p on p.id = m.provider_id order by p.id, m.id`,
)

export interface ExplainedModel {
  modelType: string
  active: boolean
  status: 'online' | 'offline' | 'unknown'
  hasPrice: boolean
  provider: string
  isProviderActive: boolean
  groups: string[]
  providerGroups: string[]
  usageTypes: string[]
}

/** Selects everything that decides who may ask a model. Values: its name in requests. */
export const explainModel = statement<ExplainedModel>(
  'explain-model',
  `select m.model_type as "modelType", m.active, m.status, m.pricing is not null as "hasPrice", p.provider_id as provider,
          p.active as "isProviderActive", to_json(m.groups) as groups, to_json(p.groups) as "providerGroups",
          to_json(array(select r.usage_type from ai_model_usage_rules r where r.model_id = m.id)) as "usageTypes"
     from ai_models m join ai_providers p on p.id = m.provider_id where m.model_id = $1`,
)

/** Sets status and demand; selects the changed models. Values: ids of models and, beside them, status and demand. */
export const setModelStatus = statement<{ id: number }>(
  'set-model-status',
  `update ai_models m set status = seen.status, demand = seen.demand, updated_at = now()
     from unnest($1::int[], $2::text[], $3::text[]) as seen(id, status, demand)
    where m.id = seen.id and (m.status, m.demand) <> (seen.status, seen.demand) returning m.id`,
)

export interface KnownModel {
  id: number
  modelId: string
  /** The provider's own name for it. */
  name: string
  providerId: string
  hasLimits: boolean
  hasPrice: boolean
}

/** Lists all models, with the data that a provider's list may complete. */
export const listKnownModels = statement<KnownModel>(
  'list-known-models',
  `select m.id, m.model_id as "modelId", coalesce(m.upstream_id, m.model_id) as name, p.provider_id as "providerId",
          m.limits is not null as "hasLimits", m.pricing is not null as "hasPrice"
     from ai_models m join ai_providers p on p.id = m.provider_id`,
)

/** Values: the provider's name. */
export const findCallableProvider = statement<
  Pick<CallableModelRow, 'id' | 'providerId' | 'adapter' | 'apiUrl' | 'apiKey' | 'servers' | 'providerSettings'>
>(
  'find-callable-provider',
  `select p.id, p.provider_id as "providerId", p.adapter, p.api_url as "apiUrl", p.api_key as "apiKey", ${furtherServers},
          p.settings as "providerSettings"
     from ai_providers p where p.provider_id = $1`,
)

/** Analyses small tables, which autovacuum ignores; without statistics PostgreSQL plans for large ones. */
export const analyseTables = (tables: readonly string[]) =>
  statement<never>('analyse-catalogue', `analyze ${tables.join()}`)
