import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/postgresql'
import { McpServer } from '../../../entities/catalogue/mcp-server.ts'
import type { Services } from '../../core/services.ts'
import type { ServerConfig } from '../../ports/ai/mcp-server-config.ts'
import { SERVER_CONFIG, SERVER_KEY, type Vault } from '../../ports/vault.ts'
import { digest, leadingElsewhere, openSecret } from '../secrets.ts'
import { keepIfEqual, mergeUntouched, plain, toJson } from '../sync-merge.ts'
import { serverAddress } from './mcp-servers.ts'

/** Writes the tool servers of the file; those that left it go with their tools. */
export async function syncServers(
  em: EntityManager,
  services: Pick<Services, 'vault' | 'log'>,
  configs: readonly ServerConfig[],
): Promise<void> {
  const rows = await em.find(McpServer, {}, { populate: ['tools'] })
  const known = matchRows(rows, configs)
  const found = new Set(known.values())
  const gone = rows.filter((row) => row.synced && !found.has(row))
  for (const row of gone) em.remove([...row.tools.getItems(), row])
  // Their addresses are free from here on.
  await em.flush()
  const kept = rows.filter((row) => !gone.includes(row))
  for (const config of configs) {
    const row = known.get(config)
    const isTaken = kept.some((other) => other !== row && other.url === config.url)
    writeServer(em, services, config, { row, isTaken })
    await em.flush()
  }
}

/**
 * Which row each server of the file has: the one that the file had at this address last, whatever an administrator made of
 * it; else the one that is at this address; else the one that the file had by this label, which has moved.
 */
function matchRows(rows: readonly McpServer[], configs: readonly ServerConfig[]): Map<ServerConfig, McpServer> {
  const free = new Set(rows)
  const found = new Map<ServerConfig, McpServer>()
  const claim = (isMeant: (row: McpServer, config: ServerConfig) => boolean) => {
    for (const config of configs.filter((config) => !found.has(config))) {
      const row = [...free].find((row) => isMeant(row, config))
      if (!row) continue
      free.delete(row)
      found.set(config, row)
    }
  }
  claim(({ synced }, { url }) => synced?.['url'] === url)
  claim((row, { url }) => row.url === url)
  claim(({ synced }, { label }) => synced?.['serverLabel'] === label)
  return found
}

const purposes = { apiKey: SERVER_KEY, additionalConfig: SERVER_CONFIG }
const secretNames = ['apiKey', 'additionalConfig'] as const
type SecretName = (typeof secretNames)[number]

interface Known {
  row: McpServer | undefined
  /** Whether another row is at the address of the file. */
  isTaken: boolean
}

/** Writes a server of the file to its row, or to a new one; what an administrator changed stays. */
function writeServer(
  em: EntityManager,
  { vault, log }: Pick<Services, 'vault' | 'log'>,
  config: ServerConfig,
  { row, isTaken }: Known,
): void {
  const wanted = toWanted(config)
  if (!row && isTaken) {
    log.warn(
      { server: config.label },
      'the server in the file has no row: an administrator led another one to its address',
    )
    return
  }
  const change = row
    ? findChange(wanted, readCurrent(vault, row), { row, isTaken })
    : { values: wanted, isMixed: false }
  if (change.isMixed)
    log.warn(
      { server: config.label },
      'the address and the secrets in the file do not take effect: an administrator set one of them',
    )
  const values = { ...change.values, ...sealed(vault, config, change.values) }
  const written = row ? em.assign(row, values as Partial<McpServer>) : em.create(McpServer, values as McpServer)
  written.synced = keepIfEqual(row?.synced, toJson(wanted))
}

/** A secret stands as its digest. */
const toWanted = (config: ServerConfig) => ({
  serverLabel: config.label,
  description: config.description,
  requireApproval: config.requireApproval,
  timeouts: toJson(config.timeouts) as Record<string, number>,
  url: config.url,
  transport: config.transport,
  apiKey: digest(readSecrets(config).apiKey),
  additionalConfig: digest(readSecrets(config).additionalConfig),
})
type Wanted = ReturnType<typeof toWanted>

const readSecrets = ({ apiKey, headers }: ServerConfig): Record<SecretName, string | undefined> => ({
  apiKey,
  additionalConfig: Object.keys(headers).length > 0 ? JSON.stringify({ headers }) : undefined,
})

interface Current {
  values: Wanted
  /** Secrets that no application key opens. */
  lost: SecretName[]
}

function readCurrent(vault: Vault, row: McpServer): Current {
  const opened = secretNames.map((name) => [name, openSecret(vault, row[name], purposes[name])] as const)
  const lost = opened.filter(([, secret]) => secret.lost).map(([name]) => name)
  const secrets = opened.map(([name, { text }]) => [name, lost.includes(name) ? row.synced?.[name] : digest(text)])
  return { values: { ...row, ...Object.fromEntries(secrets) } as Wanted, lost }
}

/** What is to be written, and whether that left out an address and secrets which do not belong together. */
function findChange(wanted: Wanted, { values: current, lost }: Current, { row, isTaken }: Known) {
  // What the last synchronisation did not know of was the file's.
  const synced = row?.synced && { ...toJson(current), ...row.synced }
  const free = Object.entries(mergeUntouched(wanted, current, synced)).filter(
    ([name, value]) =>
      lost.some((one) => one === name) ||
      // A row that an administrator made keeps secrets of which the file says nothing.
      (!isDeepStrictEqual(plain(value), plain(current[name as keyof Wanted])) && (synced || value !== null)),
  )
  const values: Partial<Wanted> = Object.fromEntries(free)
  const isMixed = mixesSecretAndAddress(wanted, current, values) || (isTaken && values.url !== undefined)
  if (!isMixed) return { values, isMixed }
  const { url: _url, transport: _transport, apiKey: _apiKey, additionalConfig: _config, ...rest } = values
  return { values: rest, isMixed }
}

/** Whether a secret that one of file and administrator gave would go to the server that the other named. */
function mixesSecretAndAddress(wanted: Wanted, current: Wanted, values: Partial<Wanted>): boolean {
  const led = { url: serverAddress({ ...current, ...values }) }
  return secretNames.some((name) => {
    const giver = values[name] === undefined ? current : wanted
    return giver[name] && leadingElsewhere({ url: serverAddress(giver) }, led).length > 0
  })
}

/** Sealing twice gives two texts, so only those secrets are sealed that are written. */
function sealed(
  vault: Vault,
  config: ServerConfig,
  values: Partial<Wanted>,
): Partial<Record<SecretName, string | null>> {
  const secrets = readSecrets(config)
  const written = secretNames.filter((name) => values[name] !== undefined)
  return Object.fromEntries(
    written.map((name) => [name, secrets[name] === undefined ? null : vault.seal(secrets[name], purposes[name])]),
  )
}
