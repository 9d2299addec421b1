import { z } from 'zod'
import { AiProvider } from '../../entities/catalogue/ai-provider.ts'
import { visibleProviders } from '../../entities/catalogue/scopes.ts'
import type { Issue } from '../core/problems.ts'
import { router } from '../core/trpc.ts'
import { timeLimitMs } from '../ports/duration.ts'
import { type Adapter, adapters, usualAddresses } from '../ports/model-config.ts'
import { API_KEY } from '../ports/vault.ts'
import { attribute, cataloguePage, many, resource, timestamps } from '../resource/declare.ts'
import { reads } from '../verbs/read.ts'
import { writes } from '../verbs/write.ts'
import { secretsStay } from './secret-address.ts'

const providerId = z.string().trim().min(1).max(120).describe('The name in the configuration, unique.')
const name = z.string().trim().min(1).max(120).describe('The name that people see.')
const adapter = z.enum(adapters).describe('The protocol the provider speaks.')
const active = z.boolean().describe('Whether its models can be used.')
const apiUrl = z
  .url({ protocol: /^https?$/ })
  .max(2048)
  .nullable()
  .describe("Where its API is; null for the provider's usual address. Another server needs the key again.")
/** Stand for a secret, and are taken for none. */
const stars = '********'
export const secret = z
  .string()
  .min(1)
  .max(4096)
  .refine((text) => text !== stars, 'must be the secret, not the stars that stand for it')
const apiKey = secret
  .nullable()
  .describe('The key of its API. Nobody gets it back: where there is one, stars stand for it.')
const settings = z
  .strictObject({
    timeouts: z
      .strictObject({
        connect: timeLimitMs.optional(),
        firstByte: timeLimitMs.optional(),
        total: timeLimitMs.optional(),
      })
      .optional(),
    circuit: z
      .strictObject({ failures: z.number().int().positive().optional(), openFor: timeLimitMs.optional() })
      .optional(),
  })
  .describe(
    'Time limits in milliseconds, of a day at most, and after how many failures the provider is skipped for how long.',
  )

export const masked = (column: string) => (row: string) => `case when ${row}.${column} is not null then '${stars}' end`

export const aiProviders = resource({
  type: 'ai-providers',
  about: 'Services that run AI models.',
  table: 'ai_providers',
  coalesced: true,
  scope: visibleProviders,
  attributes: {
    providerId: attribute(providerId),
    name: attribute(name),
    adapter: attribute(adapter, { only: 'admin' }),
    active: attribute(active, { only: 'admin' }),
    apiUrl: attribute(apiUrl, { only: 'admin' }),
    apiKey: attribute(apiKey, { only: 'admin', sql: masked('api_key') }),
    settings: attribute(settings, { only: 'admin' }),
    ...timestamps,
  },
  relations: { models: many('ai-models', { inverse: 'provider_id' }) },
  includes: ['models', 'models.provider', 'models.tools', 'models.descriptions'],
  sorts: ['providerId', 'name', 'createdAt', 'updatedAt'],
  page: cataloguePage,
})

const addressMissing = ({ adapter, apiUrl }: Record<string, unknown>): Issue[] =>
  adapter === 'openai-compatible' && !apiUrl
    ? [{ path: ['apiUrl'], message: 'is required where any server may be meant' }]
    : []

/** Where the API of a provider is, given or usual. */
export const apiAddress = ({ adapter, apiUrl }: { adapter: string; apiUrl?: string | null | undefined }) =>
  apiUrl ?? usualAddresses[adapter as Adapter]

const keyStays = secretsStay({
  secrets: ['apiKey'],
  addresses: (row) => ({ apiUrl: apiAddress(row as { adapter: string; apiUrl: string | null }) }),
})

const members = { name, adapter, active, apiUrl, apiKey, settings }

export const aiProvidersRouter = router({
  ...reads(aiProviders),
  ...writes(aiProviders, {
    entity: AiProvider,
    create: {
      providerId,
      ...members,
      active: active.default(true),
      apiUrl: apiUrl.default(null),
      apiKey: apiKey.default(null),
      settings: settings.default({}),
    },
    update: { providerId, ...members },
    check: (row, change) => [...addressMissing(row), ...keyStays(row, change)],
    columns: ({ services: { vault } }, { apiKey, ...given }) => ({
      ...given,
      ...(apiKey !== undefined && { apiKey: apiKey === null ? null : vault.seal(String(apiKey), API_KEY) }),
    }),
  }),
})
