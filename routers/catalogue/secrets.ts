import { createHash } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { McpConnection } from '../../entities/catalogue/mcp-connection.ts'
import { ProviderServer } from '../../entities/catalogue/provider-server.ts'
import type { Issue } from '../core/problems.ts'
import type { Services } from '../core/services.ts'
import { CONNECTION_CLIENT, CONNECTION_TOKENS, FURTHER_API_KEY, type Vault } from '../ports/vault.ts'
import { attribute, type Resource } from '../resource/declare.ts'
import type { RowUpdate } from '../verbs/write.ts'

/** Placeholder for a stored secret in responses; it is never stored itself. */
export const STARS = '********'

/** SQL that shows the placeholder for a sealed column. */
export const maskWithStars = (column: string) => `case when ${column} is not null then '${STARS}' end`

export const secretText = z
  .string()
  .min(1)
  .max(4096)
  .refine((text) => text !== STARS, 'must be the secret, not the stars that stand for it')
  .nullable()

/** Attribute for a secret in a sealed column. Responses contain stars in its place. */
export const secret = <S extends z.ZodType>(purpose: string, input: S, about: string) =>
  attribute(z.string().nullable().describe(about), {
    write: true,
    sensitive: true,
    default: null,
    only: 'admin',
    sealed: purpose,
    // The written value is never returned.
    input: input.meta({ description: about, writeOnly: true }),
    load: maskWithStars,
  })

type Addresses = Record<string, string | null | undefined>

/**
 * Keeps stored secrets from being sent to another server. A change of an address to another origin must include the
 * secrets again: otherwise somebody who may write but not read a secret could have it sent to a server of their own.
 * `addresses` returns the addresses that receive a row's secrets, by member.
 */
export const createSecretCheck = ({ attributes }: Resource, addresses: (row: Record<string, unknown>) => Addresses) => {
  const secrets = Object.keys(attributes).filter((name) => attributes[name]?.sealed)
  return (row: Record<string, unknown>, change: RowUpdate | undefined): Issue[] => {
    const keptSecrets = secrets.filter((name) => change?.before[name] && change.input[name] === undefined)
    if (!change || keptSecrets.length === 0) return []
    const message = `leads to another server: give ${keptSecrets.join(' and ')} again, or null for none`
    return findOtherOrigins(addresses(change.before), addresses(row)).map((name) => ({ path: [name], message }))
  }
}

/** Returns the names of addresses with an origin that none of the previous addresses had. */
export function findOtherOrigins(before: Addresses, after: Addresses): string[] {
  const knownOrigins = new Set(Object.values(before).map(parseOrigin))
  return Object.keys(after).filter((name) => after[name] && !knownOrigins.has(parseOrigin(after[name])))
}

/** Returns the origin, or the text itself if it is no URL, such as a command. */
function parseOrigin(address: string | null | undefined): string | undefined {
  const { origin = 'null' } = URL.parse(address ?? '') ?? {}
  return origin === 'null' ? (address ?? undefined) : origin
}

interface OpenSecret {
  text?: string
  /** True if no application key opens it any more; the file's secret then replaces it. */
  lost?: boolean
}

export function openSecret(vault: Vault, sealed: string | null | undefined, purpose: string): OpenSecret {
  if (!sealed) return {}
  try {
    return { text: vault.open(sealed, purpose) }
  } catch {
    return { lost: true }
  }
}

/** Hashes a secret for the values of the last synchronisation. */
export const hashSecret = (secret: string | undefined) =>
  secret ? createHash('sha256').update(secret).digest('hex') : null

/** Seals all secrets with the current application key, so that earlier keys can be dropped. */
export async function resealSecrets(em: EntityManager, services: Pick<Services, 'records' | 'vault'>): Promise<void> {
  const { vault } = services
  const { resources } = services.records
  for (const type of resources.all)
    for (const { property, purpose } of listSecrets(type)) {
      const rows = await em.find(resources.tableOf(type.type).entity, {})
      for (const row of rows as Partial<Record<string, unknown>>[])
        if (row[property]) row[property] = vault.renew(String(row[property]), purpose)
    }
  await resealServerKeys(em, vault)
  await resealConnections(em, vault)
}

/** Reseals the keys of further servers, which are no resource type. */
async function resealServerKeys(em: EntityManager, vault: Vault): Promise<void> {
  for (const server of await em.find(ProviderServer, { apiKey: { $ne: null } }))
    server.apiKey = vault.renew(server.apiKey ?? '', FURTHER_API_KEY)
}

/** Reseals the accounts of people at tool servers. */
async function resealConnections(em: EntityManager, vault: Vault): Promise<void> {
  for (const connection of await em.find(McpConnection, {})) {
    connection.client = vault.renew(connection.client, CONNECTION_CLIENT)
    if (connection.tokens) connection.tokens = vault.renew(connection.tokens, CONNECTION_TOKENS)
  }
}

const listSecrets = ({ attributes }: Resource) =>
  Object.entries(attributes).flatMap(([name, { property = name, sealed: purpose }]) =>
    purpose === undefined ? [] : [{ property, purpose }],
  )
