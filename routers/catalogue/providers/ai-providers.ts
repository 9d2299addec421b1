import { z } from 'zod'
import { AiModel } from '../../../entities/catalogue/ai-model.ts'
import { AiProvider, visibleProviders } from '../../../entities/catalogue/ai-provider.ts'
import { ProviderServer } from '../../../entities/catalogue/provider-server.ts'
import { takes } from '../../core/body-size.ts'
import type { Issue } from '../../core/problems.ts'
import type { Settings } from '../../core/settings.ts'
import { router } from '../../core/trpc.ts'
import { type Adapter, adapters, needAddress, usualAddresses } from '../../ports/ai/adapters.ts'
import { modelParameters } from '../../ports/ai/model-config.ts'
import { timeLimitMs } from '../../ports/duration.ts'
import { API_KEY } from '../../ports/vault.ts'
import { attribute, cataloguePage, many, resource, sortedTimestamps } from '../../resource/declare.ts'
import { exposes } from '../../resource/exposure.ts'
import { reads } from '../../verbs/read.ts'
import { withoutUnchanged } from '../../verbs/unchanged.ts'
import { administrator, type Change, createRow, updateRow, type WrittenRow, writes } from '../../verbs/write.ts'
import { createInput, updateInput } from '../../verbs/write-inputs.ts'
import { text, webAddress } from '../schemas.ts'
import { secret, secretText } from '../secret.ts'
import { secretsStay } from '../secret-address.ts'
import { demoIssues } from './demo.ts'
import { furtherServers } from './further-servers.ts'

const settings = z.strictObject({
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
  continuousUsage: z.boolean().optional(),
  parameters: modelParameters.optional(),
})

export const aiProviders = resource({
  type: 'ai-providers',
  about: 'Services that run AI models.',
  entity: AiProvider,
  coalesced: true,
  scope: visibleProviders,
  streams: 'all',
  attributes: {
    providerId: attribute(text(120).describe('The name in the configuration, unique.'), { write: true, sort: true }),
    name: attribute(text(120).describe('The name that people see.'), { write: true, sort: true }),
    adapter: attribute(z.enum(adapters).describe('The protocol the provider speaks.'), { write: true, only: 'admin' }),
    active: attribute(z.boolean().describe('Whether its models can be used.'), {
      write: true,
      default: true,
      only: 'admin',
    }),
    apiUrl: attribute(
      webAddress
        .nullable()
        .describe("Where its API is; null for the provider's usual address. Another server needs the key again."),
      { write: true, default: null, only: 'admin' },
    ),
    apiKey: secret(
      API_KEY,
      secretText,
      'The key of its API. Nobody gets it back: where there is one, stars stand for it.',
    ),
    servers: furtherServers,
    modelStatusUrl: attribute(
      webAddress
        .nullable()
        .describe(
          'Where status checks find the list of models, if not at the API itself. The key is sent to no other server.',
        ),
      { write: true, default: null, only: 'admin' },
    ),
    settings: attribute(
      settings.describe(
        'Time limits in milliseconds, of a day at most; after how many failures the provider is skipped for how long; whether it tells in each piece of a stream what that has taken so far; `parameters` of all its models that answer questions, where a model sets nothing else.',
      ),
      { write: true, default: {}, only: 'admin' },
    ),
    ...sortedTimestamps,
  },
  relations: { models: many('ai-models') },
  includes: ['models', 'models.provider', 'models.tools', 'models.descriptions'],
  page: cataloguePage,
})

const addressMissing = ({ adapter, apiUrl }: Record<string, unknown>): Issue[] =>
  needAddress.has(adapter) && !apiUrl
    ? [{ path: ['apiUrl'], message: 'is required where any server may be meant' }]
    : []

/** Where the API of a provider is, given or usual. */
export const apiAddress = ({ adapter, apiUrl }: { adapter: string; apiUrl?: string | null | undefined }) =>
  apiUrl ?? usualAddresses[adapter as Adapter]

const keyStays = secretsStay(aiProviders, (row) => ({
  apiUrl: apiAddress(row as { adapter: string; apiUrl: string | null }),
}))

const validateFor = (settings: Settings) => (row: Record<string, unknown>, change?: Change) => [
  ...addressMissing(row),
  ...keyStays(row, change),
  ...demoIssues(settings, row, change),
]

/** The servers of the file stand beside its address and key, and go where others are given. Those that were added stay. */
async function leaveServers({ em, row, given }: WrittenRow): Promise<void> {
  if (!['adapter', 'apiUrl', 'apiKey'].some((name) => name in given)) return
  await em.nativeDelete(ProviderServer, { provider: row.id, fromFile: true })
}

/** The models of a provider go with it, and are shown as long as it is active; the database tells nobody. */
async function tellOfModels(
  verb: 'updated' | 'deleted',
  { em, changes, row }: Omit<WrittenRow, 'given'>,
): Promise<void> {
  const models = await em.find(AiModel, { provider: row.id }, { fields: ['id'], orderBy: { id: 'asc' } })
  for (const { id } of models) changes.add(['all'], verb, 'ai-models', id)
}

async function follow(written: WrittenRow): Promise<void> {
  await leaveServers(written)
  if ('active' in written.given) await tellOfModels('updated', written)
}

export const aiProvidersRouter = router({
  ...reads(aiProviders),
  ...writes(aiProviders, { beforeDelete: (row) => tellOfModels('deleted', row) }),

  create: administrator
    .meta({ ...exposes(aiProviders, 'create'), ...takes('record') })
    .input(createInput(aiProviders))
    .mutation(({ ctx, input }) => createRow(ctx, aiProviders, input, { validate: validateFor(ctx.services.settings) })),

  update: administrator
    .meta({ ...exposes(aiProviders, 'update'), ...takes('record') })
    .use(withoutUnchanged(aiProviders))
    .input(updateInput(aiProviders))
    .mutation(({ ctx, input }) =>
      updateRow(ctx, aiProviders, input, { validate: validateFor(ctx.services.settings), afterFlush: follow }),
    ),
})
