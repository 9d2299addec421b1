import { isDeepStrictEqual } from 'node:util'
import type { EntityManager } from '@mikro-orm/postgresql'
import { McpServer } from '../../../entities/catalogue/mcp-server.ts'
import type { Services } from '../../core/services.ts'
import type { ServerConfig } from '../../ports/ai/mcp-server-config.ts'
import { SERVER_CLIENT_SECRET, SERVER_CONFIG, SERVER_KEY, type Vault } from '../../ports/vault.ts'
import { findOtherOrigins, hashSecret, openSecret } from '../secrets.ts'
import { keepIfEqual, mergeUntouched, toJson, toPlainJson } from '../sync-merge.ts'
import { endConnectionsOfServers, endUnfitConnections } from './end-connections.ts'
import { getServerAddress, toLabelHolder } from './mcp-servers.ts'
import { keepNames } from './tool-names.ts'

/** Writes the tool servers of the file. Servers that left the file are deleted with their tools. */
export async function syncServers(
  em: EntityManager,
  services: Pick<Services, 'vault' | 'log' | 'process'>,
  configs: readonly ServerConfig[],
): Promise<void> {
  const rows = await em.find(McpServer, {}, { populate: ['tools'] })
  const rowsByConfig = matchRows(rows, configs)
  const matches = new Set(rowsByConfig.values())
  const removedRows = rows.filter((row) => row.synced && !matches.has(row))
  const { jobQueue, hooks } = services.process
  await endConnectionsOfServers(
    em,
    jobQueue,
    removedRows.map(({ id }) => id),
  )
  for (const row of removedRows) {
    await hooks.emitSerial('name-freed', toLabelHolder(em, row))
    await keepNames(em, row.tools.getItems())
    em.remove([...row.tools.getItems(), row])
  }
  // Flush now, so that their addresses are free.
  await em.flush()
  const remainingRows = rows.filter((row) => !removedRows.includes(row))
  for (const config of configs) {
    const row = rowsByConfig.get(config)
    const isTaken = remainingRows.some((other) => other !== row && other.url === config.url)
    const labelBefore = row?.serverLabel
    const written = writeServer(em, services, config, { row, isTaken })
    await em.flush()
    if (written && written.serverLabel !== labelBefore) await hooks.emitSerial('name-taken', toLabelHolder(em, written))
  }
  await endUnfitConnections(em, jobQueue, null)
}

/**
 * Finds the row of each server of the file: first by the address that the file had last, then by the current address,
 * then by the label that the file had, whose server has moved.
 */
function matchRows(rows: readonly McpServer[], configs: readonly ServerConfig[]): Map<ServerConfig, McpServer> {
  const unmatched = new Set(rows)
  const matches = new Map<ServerConfig, McpServer>()
  const matchBy = (isMatch: (row: McpServer, config: ServerConfig) => boolean) => {
    for (const config of configs.filter((config) => !matches.has(config))) {
      const row = [...unmatched].find((row) => isMatch(row, config))
      if (!row) continue
      unmatched.delete(row)
      matches.set(config, row)
    }
  }
  matchBy(({ synced }, { url }) => synced?.['url'] === url)
  matchBy((row, { url }) => row.url === url)
  matchBy(({ synced }, { label }) => synced?.['serverLabel'] === label)
  return matches
}

const purposes = {
  apiKey: SERVER_KEY,
  additionalConfig: SERVER_CONFIG,
  oauthClientSecret: SERVER_CLIENT_SECRET,
}
const secretNames = ['apiKey', 'additionalConfig', 'oauthClientSecret'] as const
type SecretName = (typeof secretNames)[number]

interface MatchedRow {
  row: McpServer | undefined
  /** True if another row has the address of the file. */
  isTaken: boolean
}

/**
 * Writes a server of the file to its row or to a new one, which it returns if there is one. Values that an administrator
 * changed stay.
 */
function writeServer(
  em: EntityManager,
  { vault, log }: Pick<Services, 'vault' | 'log'>,
  config: ServerConfig,
  { row, isTaken }: MatchedRow,
): McpServer | undefined {
  const fileValues = toFileValues(config)
  if (!row && isTaken) {
    log.warn(
      { server: config.label },
      'the server in the file has no row: an administrator led another one to its address',
    )
    return undefined
  }
  const change = row
    ? findChange(fileValues, readCurrent(vault, row), { row, isTaken })
    : { values: fileValues, isMixed: false }
  if (change.isMixed)
    log.warn(
      { server: config.label },
      'the address and the secrets in the file do not take effect: an administrator set one of them',
    )
  const values = { ...change.values, ...sealSecrets(vault, config, change.values) }
  const serverRow = row ? em.assign(row, values as Partial<McpServer>) : em.create(McpServer, values as McpServer)
  serverRow.synced = keepIfEqual(row?.synced, toJson(fileValues))
  return serverRow
}

/** Converts a server of the file to column values; secrets become hashes. */
const toFileValues = (config: ServerConfig) => ({
  serverLabel: config.label,
  description: config.description,
  requireApproval: config.requireApproval,
  groups: config.groups,
  // Servers from before programs could call tools stay closed to them, unless the file says otherwise.
  ...(config.gateway !== undefined && { gateway: config.gateway }),
  pricePerCall: config.pricePerCall,
  offers: config.offers,
  timeouts: toJson(config.timeouts) as Record<string, number>,
  url: config.url,
  transport: config.transport,
  apiKey: hashSecret(readSecrets(config).apiKey),
  additionalConfig: hashSecret(readSecrets(config).additionalConfig),
  account: config.account,
  oauthClientId: config.oauth.clientId ?? null,
  oauthClientSecret: hashSecret(readSecrets(config).oauthClientSecret),
  oauthScopes: config.oauth.scopes ?? null,
  oauthIssuer: config.oauth.issuer ?? null,
})
type FileValues = ReturnType<typeof toFileValues>

const readSecrets = ({ apiKey, headers, oauth }: ServerConfig): Record<SecretName, string | undefined> => ({
  apiKey,
  additionalConfig: Object.keys(headers).length > 0 ? JSON.stringify({ headers }) : undefined,
  oauthClientSecret: oauth.clientSecret,
})

interface CurrentValues {
  values: FileValues
  /** Secrets that no application key opens. */
  unreadable: SecretName[]
}

function readCurrent(vault: Vault, row: McpServer): CurrentValues {
  const opened = secretNames.map((name) => [name, openSecret(vault, row[name], purposes[name])] as const)
  const unreadable = opened.filter(([, secret]) => secret.lost).map(([name]) => name)
  const secrets = opened.map(([name, { text }]) => [
    name,
    unreadable.includes(name) ? row.synced?.[name] : hashSecret(text),
  ])
  return { values: { ...row, ...Object.fromEntries(secrets) } as FileValues, unreadable }
}

/**
 * Returns the values to write. `isMixed` is true if an address and secrets were left out because they do not belong
 * together.
 */
function findChange(
  fileValues: FileValues,
  { values: current, unreadable }: CurrentValues,
  { row, isTaken }: MatchedRow,
) {
  // Columns that the last synchronisation did not know count as the file's.
  const synced = row?.synced && { ...toJson(current), ...row.synced }
  const writable = Object.entries(mergeUntouched(fileValues, current, synced)).filter(
    ([name, value]) =>
      unreadable.some((one) => one === name) ||
      // A row of an administrator keeps its secrets if the file has none.
      (!isDeepStrictEqual(toPlainJson(value), toPlainJson(current[name as keyof FileValues])) &&
        (synced || value !== null)),
  )
  const values: Partial<FileValues> = Object.fromEntries(writable)
  const isMixed = mixesSecretAndAddress(fileValues, current, values) || (isTaken && values.url !== undefined)
  if (!isMixed) return { values, isMixed }
  const safeValues = Object.entries(values).filter(([name]) => !boundNames.has(name))
  return { values: Object.fromEntries(safeValues) as Partial<FileValues>, isMixed }
}

/** The address, and what is sent to it. */
const boundNames: ReadonlySet<string> = new Set(['url', 'transport', 'oauthIssuer', ...secretNames])

/** True if a secret of the file would be sent to an address of an administrator, or the other way round. */
function mixesSecretAndAddress(fileValues: FileValues, current: FileValues, values: Partial<FileValues>): boolean {
  const resulting = getAddresses({ ...current, ...values })
  return secretNames.some((name) => {
    const secretOwner = values[name] === undefined ? current : fileValues
    return secretOwner[name] && findOtherOrigins(getAddresses(secretOwner), resulting).length > 0
  })
}

const getAddresses = (values: FileValues) => ({ url: getServerAddress(values), oauthIssuer: values.oauthIssuer })

/** Seals only the secrets that are written, because sealing is not deterministic. */
function sealSecrets(
  vault: Vault,
  config: ServerConfig,
  values: Partial<FileValues>,
): Partial<Record<SecretName, string | null>> {
  const secrets = readSecrets(config)
  const writtenNames = secretNames.filter((name) => values[name] !== undefined)
  return Object.fromEntries(
    writtenNames.map((name) => [name, secrets[name] === undefined ? null : vault.seal(secrets[name], purposes[name])]),
  )
}
