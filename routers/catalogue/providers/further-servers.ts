import { z } from 'zod'
import { ProviderServer } from '../../../entities/catalogue/provider-server.ts'
import { type Issue, Problem } from '../../core/problems.ts'
import { MAX_SERVERS } from '../../ports/ai/model-config.ts'
import { FURTHER_API_KEY } from '../../ports/vault.ts'
import { attribute } from '../../resource/declare.ts'
import type { Saving } from '../../resource/saving.ts'
import { webAddress } from '../schemas.ts'
import { STARS, starsFor } from '../secret.ts'

const about =
  'Servers beside its own, each with its address and its own key. Each call goes to the least busy one of those that work. ' +
  `What is written replaces all that administrators set, at most ${MAX_SERVERS}. Nobody gets a key back: where there is one, stars stand ` +
  'for it. With the stars, or without `apiKey`, a server keeps the key that is stored for its address; another address needs its key, ' +
  'or null for none. `fromFile` marks servers in the file that `AI_CONFIG` names: they are changed in the file alone, and stay whether ' +
  'they are sent back as they were read or left out.'

const written = z.strictObject({
  apiUrl: webAddress,
  apiKey: z.string().min(1).max(4096).nullable().optional(),
  fromFile: z.boolean().optional(),
})
type Written = z.output<typeof written>

const tooMany = `must be at most ${MAX_SERVERS} beside those in the file`
const isOwn = ({ fromFile }: { fromFile?: boolean | undefined }) => !fromFile

/** The servers of a provider beside its own, which stand in a table of their own. */
export const furtherServers = attribute(
  z.array(z.object({ apiUrl: z.string(), apiKey: z.string().nullable(), fromFile: z.boolean() })).describe(about),
  {
    write: true,
    default: [],
    only: 'admin',
    input: z
      .array(written)
      .max(2 * MAX_SERVERS, tooMany)
      .refine((list) => list.filter(isOwn).length <= MAX_SERVERS, tooMany)
      .meta({ description: about, writeOnly: true }),
    sql: (provider, sql) => {
      const s = sql.alias()
      const members = `'apiUrl', ${s}.api_url, 'apiKey', ${starsFor(`${s}.api_key`)}, 'fromFile', ${s}.from_file`
      return `to_json(array(select json_build_object(${members})
        from provider_servers ${s} where ${s}.provider_id = ${provider}.id order by ${s}.from_file desc, ${s}.id))`
    },
    save: replaceServers,
  },
)

/** Replaces those that administrators set. The provider is locked. */
async function replaceServers({ em, id, vault }: Saving, value: unknown): Promise<void> {
  const list = value as Written[]
  const stored = await em.find(ProviderServer, { provider: id }, { orderBy: { id: 'asc' }, disableIdentityMap: true })
  const [own, ofFile] = [stored.filter(isOwn), stored.filter(({ fromFile }) => fromFile)]
  const kept = keptKeys(list.filter(isOwn), own)
  const issues = list.flatMap((server, at): Issue[] => {
    if (server.fromFile) return ofFile.some((other) => isSame(server, other)) ? [] : [differsFromFile(at)]
    return kept.has(server) || !keepsKey(server) ? [] : [keyMissing(server, at, own)]
  })
  if (issues.length > 0) throw new Problem('invalid', { issues })
  const keyOf = (server: Written) =>
    kept.get(server) ?? (server.apiKey && !keepsKey(server) ? vault.seal(server.apiKey, FURTHER_API_KEY) : null)
  await em.nativeDelete(ProviderServer, { provider: id, fromFile: false })
  await em.insertMany(
    ProviderServer,
    list.filter(isOwn).map((server) => ({ provider: id, apiUrl: server.apiUrl, apiKey: keyOf(server) })),
  )
}

const keepsKey = ({ apiKey }: Written) => apiKey === undefined || apiKey === STARS

/** The sealed keys of those that keep one. Which of several at one address is meant, is clear only where all are kept. */
function keptKeys(list: readonly Written[], own: readonly ProviderServer[]): Map<Written, string | null> {
  const kept = new Map<Written, string | null>()
  for (const [address, servers] of Map.groupBy(list.filter(keepsKey), ({ apiUrl }) => apiUrl)) {
    const here = own.filter(({ apiUrl }) => apiUrl === address)
    const keys = here.flatMap(({ apiKey }) => apiKey ?? [])
    const isClear = keys.length === servers.length || (keys.length === 0 && here.length > 0)
    if (isClear) for (const [at, server] of servers.entries()) kept.set(server, keys[at] ?? null)
  }
  return kept
}

const isSame = (server: Written, { apiUrl, apiKey }: ProviderServer) =>
  server.apiUrl === apiUrl && [undefined, apiKey && STARS].includes(server.apiKey)

const differsFromFile = (at: number): Issue => ({
  path: ['servers', at],
  message: 'differs from the file that AI_CONFIG names: change it there',
})

const keyMissing = ({ apiUrl: address }: Written, at: number, own: readonly ProviderServer[]): Issue => ({
  path: ['servers', at, 'apiKey'],
  message: own.some(({ apiUrl }) => apiUrl === address)
    ? 'must be given, or null for none: it is not clear which of the keys of this address is meant'
    : 'must be given for another address, or null for none',
})
