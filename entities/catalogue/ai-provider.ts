import { defineEntity, type InferEntity, p } from '@mikro-orm/core'
import { id, timestamps } from '../sql/columns.ts'
import { allowedToGroups } from '../sql/groups.ts'
import { everyRowForAdmins } from '../sql/scope.ts'
import { AiModel, allowedToUsage, type ModelParameters } from './ai-model.ts'
import { ProviderServer } from './provider-server.ts'

export interface ProviderSettings {
  /** In milliseconds. */
  timeouts?: { connect?: number; firstByte?: number; total?: number }
  /** Consecutive failures that open the circuit breaker, and the milliseconds for which it stays open. */
  circuit?: { failures?: number; openFor?: number }
  /** True if the provider supports `continuous_usage_stats`. */
  continuousUsage?: boolean
  /** Default parameters of all its chat models. */
  parameters?: ModelParameters
}

/** A service that runs AI models. */
export const AiProvider = defineEntity({
  name: 'AiProvider',
  tableName: 'ai_providers',
  properties: {
    id,
    ...timestamps,
    /** The name in the configuration. */
    providerId: p.string().length(120).unique(),
    adapter: p.string().length(40),
    name: p.string().length(120),
    active: p.boolean().default(true),
    /** Groups that may use its models; everybody if empty. */
    groups: p.array().defaultRaw(`'{}'`),
    apiUrl: p.string().length(2048).nullable(),
    modelStatusUrl: p.string().length(2048).nullable(),
    /** Sealed with the application key. */
    apiKey: p.text().nullable().hidden(),
    settings: p.json<ProviderSettings>().defaultRaw(`'{}'`),
    /** Values of the last synchronisation; a differing column was changed by an administrator. */
    synced: p.json<Record<string, unknown>>().nullable().hidden(),
    models: () => p.oneToMany(AiModel).mappedBy('provider'),
    servers: () => p.oneToMany(ProviderServer).mappedBy('provider').orderBy({ id: 'asc' }),
  },
})
export type AiProvider = InferEntity<typeof AiProvider>

/** Active providers for groups of the caller; programs see only those with a model for them. */
export const visibleProviders = everyRowForAdmins((provider, sql) => {
  const offered = sql.exists(
    'ai_models',
    (m) =>
      `${m}.provider_id = ${provider}.id and ${m}.active and ${allowedToUsage(m, sql)} and ${allowedToGroups(m, sql)}`,
  )
  return `${provider}.active and ${allowedToGroups(provider, sql)} and (${sql.param('usage')} = 'main' or ${offered})`
})
