import { z } from 'zod'
import { ProviderServer } from '../../../entities/catalogue/provider-server.ts'
import { everyRowForAdminsAlone } from '../../../entities/sql/scope.ts'
import { Problem } from '../../core/problems.ts'
import { router } from '../../core/trpc.ts'
import { MAX_SERVERS } from '../../ports/ai/model-config.ts'
import { FURTHER_API_KEY } from '../../ports/vault.ts'
import { attribute, cataloguePage, one, resource, sortedTimestamps } from '../../resource/declare.ts'
import { reads } from '../../verbs/read.ts'
import { type Change, type WrittenRow, writes } from '../../verbs/write.ts'
import { webAddress } from '../schemas.ts'
import { secret, secretText } from '../secret.ts'
import { secretsStay } from '../secret-address.ts'

export const providerServers = resource({
  type: 'provider-servers',
  about: 'Servers of a provider beside its own. Each call goes to the least busy one of those that work.',
  entity: ProviderServer,
  coalesced: true,
  scope: everyRowForAdminsAlone,
  attributes: {
    apiUrl: attribute(webAddress.describe('Where its API is. Another server needs the key again.'), { write: true }),
    apiKey: secret(
      FURTHER_API_KEY,
      secretText,
      "The key of its API, which is never the provider's. Nobody gets it back: where there is one, stars stand for it.",
    ),
    fromFile: attribute(
      z.boolean().describe('Whether it stands in the file that `AI_CONFIG` names, where alone it is changed then.'),
    ),
    ...sortedTimestamps,
  },
  relations: {
    provider: one('ai-providers', {
      write: 'create',
      about: 'The provider whose models it runs.',
      alwaysVisible: true,
    }),
  },
  page: cataloguePage,
})

const keyStays = secretsStay(providerServers, ({ apiUrl }) => ({ apiUrl: String(apiUrl) }))

function assertNotInFile({ fromFile }: { fromFile?: unknown }): void {
  if (!fromFile) return
  const detail = 'This server stands in the file that AI_CONFIG names. Change it there.'
  throw new Problem('conflict', { detail })
}

function validate(row: Record<string, unknown>, change?: Change) {
  assertNotInFile(row)
  return keyStays(row, change)
}

/** Locks the provider, so that two servers are not added past the limit at once. */
async function assertNotTooMany({ em, given }: WrittenRow): Promise<void> {
  if (given['provider'] === undefined) return
  const provider = Number(given['provider'])
  await em.execute('select from ai_providers where id = ? for no key update', [provider])
  if ((await em.count(ProviderServer, { provider, fromFile: false })) <= MAX_SERVERS) return
  const message = `has at most ${MAX_SERVERS} servers beside its own and those in the file`
  throw new Problem('invalid', { detail: `A provider ${message}.`, issues: [{ path: ['provider'], message }] })
}

/** Everybody is told of the provider, whose servers nobody but administrators sees. */
function tellOfProvider({ changes, row }: Omit<WrittenRow, 'given'>): void {
  changes.add(['all'], 'updated', 'ai-providers', (row as ProviderServer).provider.id)
}

export const providerServersRouter = router({
  ...reads(providerServers),
  ...writes(providerServers, {
    validate,
    async afterFlush(written) {
      await assertNotTooMany(written)
      tellOfProvider(written)
    },
    async beforeDelete(doomed) {
      assertNotInFile(doomed.row as ProviderServer)
      tellOfProvider(doomed)
    },
  }),
})
