import { z } from 'zod'
import { AiModel } from '../../entities/catalogue/ai-model.ts'
import { AiProvider, visibleProviders } from '../../entities/catalogue/ai-provider.ts'
import { ProviderServer } from '../../entities/catalogue/provider-server.ts'
import type { Context } from '../core/context.ts'
import { type Issue, Problem } from '../core/problems.ts'
import type { Settings } from '../core/settings.ts'
import { router, withBodySize } from '../core/trpc.ts'
import { type Adapter, adapters, defaultAddresses, selfHostedAdapters } from '../ports/ai/adapters.ts'
import { MAX_SERVERS, modelParameters } from '../ports/ai/model-config.ts'
import { timeLimitMs } from '../ports/duration.ts'
import { API_KEY, FURTHER_API_KEY } from '../ports/vault.ts'
import { webAddress } from '../ports/web-address.ts'
import {
  type AttributeWrite,
  attribute,
  cataloguePage,
  defineResource,
  many,
  sortedTimestamps,
} from '../resource/declare.ts'
import { exposeAs } from '../resource/exposure.ts'
import { dropUnchanged } from '../verbs/drop-unchanged.ts'
import { defineReads } from '../verbs/read.ts'
import { administrator, createRow, defineWrites, type RowUpdate, updateRow, type WrittenRow } from '../verbs/write.ts'
import { buildCreateInput, buildUpdateInput, type RowChange } from '../verbs/write-inputs.ts'
import { groupList, text } from './schemas.ts'
import { createSecretCheck, maskWithStars, STARS, secret, secretText } from './secrets.ts'

const about =
  'Additional servers of the provider, each with its own address and key. Each call goes to the least busy server that works. ' +
  `A write replaces all servers that administrators set, at most ${MAX_SERVERS}. Stars stand for a key, which nobody gets back. ` +
  'With the stars, or without `apiKey`, a server keeps the key that is stored for its address; another address needs its key, ' +
  'or null for none. `fromFile` marks servers in the file that `AI_CONFIG` names. They are changed in the file alone, and stay if ' +
  'a write omits them.'

const serverInput = z.strictObject({
  apiUrl: webAddress,
  apiKey: z.string().min(1).max(4096).nullable().optional(),
  fromFile: z.boolean().optional(),
})
type ServerInput = z.output<typeof serverInput>

const tooMany = `must be at most ${MAX_SERVERS} beside those in the file`
const isSetByAdministrator = ({ fromFile }: { fromFile?: boolean | undefined }) => !fromFile

/** The further servers of a provider, in a table of their own. */
const furtherServers = attribute(
  z.array(z.object({ apiUrl: z.string(), apiKey: z.string().nullable(), fromFile: z.boolean() })).describe(about),
  {
    write: true,
    sensitive: true,
    default: [],
    only: 'admin',
    input: z
      .array(serverInput)
      .max(2 * MAX_SERVERS, tooMany)
      .refine((list) => list.filter(isSetByAdministrator).length <= MAX_SERVERS, tooMany)
      .meta({ description: about, writeOnly: true }),
    sql: (provider, sql) => {
      const s = sql.alias()
      const members = `'apiUrl', ${s}.api_url, 'apiKey', ${maskWithStars(`${s}.api_key`)}, 'fromFile', ${s}.from_file`
      return `to_json(array(select json_build_object(${members})
        from provider_servers ${s} where ${s}.provider_id = ${provider}.id order by ${s}.from_file desc, ${s}.id))`
    },
    save: replaceServers,
  },
)

/** Replaces the servers that administrators set. The caller has locked the provider. */
async function replaceServers({ em, id, vault }: AttributeWrite, value: unknown): Promise<void> {
  const list = value as ServerInput[]
  const servers = await em.find(ProviderServer, { provider: id }, { orderBy: { id: 'asc' }, disableIdentityMap: true })
  const [storedServers, fileServers] = [
    servers.filter(isSetByAdministrator),
    servers.filter(({ fromFile }) => fromFile),
  ]
  const keptKeys = findKeptKeys(list.filter(isSetByAdministrator), storedServers)
  const issues = list.flatMap((server, at): Issue[] => {
    if (server.fromFile) return fileServers.some((other) => isSameServer(server, other)) ? [] : [createFileIssue(at)]
    return keptKeys.has(server) || !keepsKey(server) ? [] : [createKeyIssue(server, at, storedServers)]
  })
  if (issues.length > 0) throw new Problem('invalid', { issues })
  const buildKey = (server: ServerInput) =>
    keptKeys.get(server) ?? (server.apiKey && !keepsKey(server) ? vault.seal(server.apiKey, FURTHER_API_KEY) : null)
  await em.nativeDelete(ProviderServer, { provider: id, fromFile: false })
  await em.insertMany(
    ProviderServer,
    list
      .filter(isSetByAdministrator)
      .map((server) => ({ provider: id, apiUrl: server.apiUrl, apiKey: buildKey(server) })),
  )
}

const keepsKey = ({ apiKey }: ServerInput) => apiKey === undefined || apiKey === STARS

/**
 * Returns the stored keys of servers that keep theirs. With several servers at one address this is only unambiguous if
 * all of them keep their key.
 */
function findKeptKeys(
  list: readonly ServerInput[],
  storedServers: readonly ProviderServer[],
): Map<ServerInput, string | null> {
  const keptKeys = new Map<ServerInput, string | null>()
  for (const [address, servers] of Map.groupBy(list.filter(keepsKey), ({ apiUrl }) => apiUrl)) {
    const atAddress = storedServers.filter(({ apiUrl }) => apiUrl === address)
    const keys = atAddress.flatMap(({ apiKey }) => apiKey ?? [])
    const isUnambiguous = keys.length === servers.length || (keys.length === 0 && atAddress.length > 0)
    if (isUnambiguous) for (const [at, server] of servers.entries()) keptKeys.set(server, keys[at] ?? null)
  }
  return keptKeys
}

const isSameServer = (server: ServerInput, { apiUrl, apiKey }: ProviderServer) =>
  server.apiUrl === apiUrl && [undefined, apiKey && STARS].includes(server.apiKey)

const createFileIssue = (at: number): Issue => ({
  path: ['servers', at],
  message: 'differs from the file that AI_CONFIG names: change it there',
})

const createKeyIssue = (
  { apiUrl: address }: ServerInput,
  at: number,
  storedServers: readonly ProviderServer[],
): Issue => ({
  path: ['servers', at, 'apiKey'],
  message: storedServers.some(({ apiUrl }) => apiUrl === address)
    ? 'must be given, or null for none: it is not clear which of the keys of this address is meant'
    : 'must be given for another address, or null for none',
})

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

export const aiProviders = defineResource({
  type: 'ai-providers',
  about: 'The services that run AI models.',
  entity: AiProvider,
  coalesced: true,
  scope: visibleProviders,
  streams: 'all',
  attributes: {
    providerId: attribute(text(120).describe('The unique name in the configuration.'), { write: true, sort: true }),
    name: attribute(text(120).describe('The name that people see.'), { write: true, sort: true }),
    adapter: attribute(z.enum(adapters).describe('The protocol of the provider.'), { write: true, only: 'admin' }),
    active: attribute(z.boolean().describe('True if the models of the provider can be used.'), {
      write: true,
      default: true,
      only: 'admin',
    }),
    groups: attribute(
      groupList.describe(
        'The groups whose people may use the models of the provider, if the models allow it, too. If empty, everybody may.',
      ),
      { write: true, sensitive: true, default: [], only: 'admin' },
    ),
    apiUrl: attribute(
      webAddress
        .nullable()
        .describe(
          "The address of the API; null is the provider's usual address. Changing the server requires the key again.",
        ),
      { write: true, sensitive: true, default: null, only: 'admin' },
    ),
    apiKey: secret(API_KEY, secretText, 'The key of the API. Nobody gets it back: stars stand for it.'),
    servers: furtherServers,
    modelStatusUrl: attribute(
      webAddress
        .nullable()
        .describe(
          'The address of the list of models for status checks, if it differs from the API. The key is sent to no other server.',
        ),
      { write: true, default: null, only: 'admin' },
    ),
    settings: attribute(
      settings.describe(
        'The time limits in milliseconds, at most a day each; the number of failures after which the provider is skipped, and for how long; an option for providers that report the usage so far in each piece of a stream; and `parameters` for all models that answer questions, unless a model sets its own.',
      ),
      { write: true, default: {}, only: 'admin' },
    ),
    ...sortedTimestamps,
  },
  relations: { models: many('ai-models') },
  includes: ['models', 'models.provider', 'models.tools', 'models.descriptions'],
  page: cataloguePage,
})

const findMissingAddress = ({ adapter, apiUrl }: Record<string, unknown>): Issue[] =>
  selfHostedAdapters.has(adapter) && !apiUrl
    ? [{ path: ['apiUrl'], message: 'is required where any server may be meant' }]
    : []

/** Returns the configured address of the provider's API or the default one. */
export const getApiUrl = ({ adapter, apiUrl }: { adapter: string; apiUrl?: string | null | undefined }) =>
  apiUrl ?? defaultAddresses[adapter as Adapter]

const findMovedSecrets = createSecretCheck(aiProviders, (row) => ({
  apiUrl: getApiUrl(row as { adapter: string; apiUrl: string | null }),
}))

const createValidator = (settings: Settings) => (row: Record<string, unknown>, change?: RowUpdate) => [
  ...findMissingAddress(row),
  ...findMovedSecrets(row, change),
  ...findDemoIssues(settings, row, change),
]

/**
 * Deletes the servers of the file if the provider's address or key changes, because they belong to these. Servers of
 * administrators stay.
 */
async function removeFileServers({ em, row, input }: WrittenRow): Promise<void> {
  if (!['adapter', 'apiUrl', 'apiKey'].some((name) => name in input)) return
  await em.nativeDelete(ProviderServer, { provider: row.id, fromFile: true })
}

/**
 * Records changes of the provider's models. They are deleted with it and visible only while it is active and to its
 * groups, and the database reports neither.
 */
async function recordModelChanges(
  verb: 'updated' | 'deleted',
  { em, changes, row }: Omit<WrittenRow, 'input'>,
): Promise<void> {
  const models = await em.find(AiModel, { provider: row.id }, { fields: ['id'], orderBy: { id: 'asc' } })
  for (const { id } of models) changes.add(['all'], verb, 'ai-models', id)
}

async function applyProviderChange(row: WrittenRow): Promise<void> {
  await removeFileServers(row)
  if ('active' in row.input || 'groups' in row.input) await recordModelChanges('updated', row)
}

export const aiProvidersRouter = router({
  ...defineReads(aiProviders),
  ...defineWrites(aiProviders, { beforeDelete: (row) => recordModelChanges('deleted', row) }),

  create: administrator
    .meta({ ...exposeAs(aiProviders, 'create'), ...withBodySize('record') })
    .input(buildCreateInput(aiProviders))
    .mutation(({ ctx, input }) =>
      createRow(ctx, aiProviders, input, { validate: createValidator(ctx.services.settings) }),
    ),

  update: administrator
    .meta({ ...exposeAs(aiProviders, 'update'), ...withBodySize('record') })
    .use(dropUnchanged(aiProviders))
    .input(buildUpdateInput(aiProviders))
    .mutation(({ ctx, input }) => updateProvider(ctx, input)),
})

export const updateProvider = (ctx: Context, change: RowChange) =>
  updateRow(ctx, aiProviders, change, {
    validate: createValidator(ctx.services.settings),
    afterFlush: applyProviderChange,
  })

type DemoSettings = Pick<Settings, 'servesDemo'>

/** The demo provider is no AI. Where it is not served, it may only be switched off and renamed. */
function findDemoIssues({ servesDemo }: DemoSettings, row: Record<string, unknown>, change?: RowUpdate): Issue[] {
  const isAdapterChange = !change || 'adapter' in change.input
  if (servesDemo || row['adapter'] !== 'demo' || !(isAdapterChange || row['active'])) return []
  return [{ path: [isAdapterChange ? 'adapter' : 'active'], message: 'production does not serve the demo model' }]
}

/** Switches off demo providers where they are not served. Returns the names of those that were active. */
export function switchOffDemo({ servesDemo }: DemoSettings, providers: readonly AiProvider[]): string[] {
  const demoProviders = servesDemo ? [] : providers.filter(({ adapter, active }) => adapter === 'demo' && active)
  for (const row of demoProviders) row.active = false
  return demoProviders.map(({ providerId }) => providerId)
}
