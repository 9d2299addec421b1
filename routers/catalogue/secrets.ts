import { createHash } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { ProviderServer } from '../../entities/catalogue/provider-server.ts'
import type { Issue } from '../core/problems.ts'
import type { Services } from '../core/services.ts'
import { FURTHER_API_KEY, type Vault } from '../ports/vault.ts'
import { attribute, type Resource } from '../resource/declare.ts'
import type { RowUpdate } from '../verbs/write.ts'

/** Stand for a secret, and are taken for none. */
export const STARS = '********'

/** SQL for what is shown of a sealed column. */
export const starsFor = (column: string) => `case when ${column} is not null then '${STARS}' end`

export const secretText = z
  .string()
  .min(1)
  .max(4096)
  .refine((text) => text !== STARS, 'must be the secret, not the stars that stand for it')
  .nullable()

/** A secret, whose column is sealed for this purpose. Nobody gets it back: where there is one, stars stand for it. */
export const secret = <S extends z.ZodType>(purpose: string, input: S, about: string) =>
  attribute(z.string().nullable().describe(about), {
    write: true,
    default: null,
    only: 'admin',
    sealed: purpose,
    // What is written is never read.
    input: input.meta({ description: about, writeOnly: true }),
    load: starsFor,
  })

type Addresses = Record<string, string | null | undefined>

/**
 * A stored secret goes nowhere but to the servers that it was given for. A change that leads elsewhere must give it
 * again: else who may write it, but not read it, could have it sent to a server of their own. `addresses` are those that
 * a row sends its secrets to, by the member that says so.
 */
export const secretsStay = ({ attributes }: Resource, addresses: (row: Record<string, unknown>) => Addresses) => {
  const secrets = Object.keys(attributes).filter((name) => attributes[name]?.sealed)
  return (row: Record<string, unknown>, change: RowUpdate | undefined): Issue[] => {
    const kept = secrets.filter((name) => change?.before[name] && change.input[name] === undefined)
    if (!change || kept.length === 0) return []
    const message = `leads to another server: give ${kept.join(' and ')} again, or null for none`
    return leadingElsewhere(addresses(change.before), addresses(row)).map((name) => ({ path: [name], message }))
  }
}

/** The names of those addresses that are on a server that none of the former was on. */
export function leadingElsewhere(before: Addresses, after: Addresses): string[] {
  const known = new Set(Object.values(before).map(parseOrigin))
  return Object.keys(after).filter((name) => after[name] && !known.has(parseOrigin(after[name])))
}

/** What is no address of the web, such as a command, stands for itself. */
function parseOrigin(address: string | null | undefined): string | undefined {
  const { origin = 'null' } = URL.parse(address ?? '') ?? {}
  return origin === 'null' ? (address ?? undefined) : origin
}

interface OpenSecret {
  text?: string
  /** No application key opens it any more, so the file's takes its place. */
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

/** What stands for a secret in the values of the last synchronisation. */
export const digest = (secret: string | undefined) =>
  secret ? createHash('sha256').update(secret).digest('hex') : null

/** Seals with the current key what an earlier one sealed, so that the earlier one can be dropped. */
export async function renewSecrets(em: EntityManager, services: Pick<Services, 'resources' | 'vault'>): Promise<void> {
  const { resources, vault } = services
  for (const of of resources.all)
    for (const { property, purpose } of listSecrets(of)) {
      const rows = await em.find(resources.tableOf(of.type).entity, {})
      for (const row of rows as Partial<Record<string, unknown>>[])
        if (row[property]) row[property] = vault.renew(String(row[property]), purpose)
    }
  await renewServerKeys(em, vault)
}

/** Those of the further servers of providers, which are no type. */
async function renewServerKeys(em: EntityManager, vault: Vault): Promise<void> {
  for (const server of await em.find(ProviderServer, { apiKey: { $ne: null } }))
    server.apiKey = vault.renew(server.apiKey ?? '', FURTHER_API_KEY)
}

const listSecrets = ({ attributes }: Resource) =>
  Object.entries(attributes).flatMap(([name, { property = name, sealed: purpose }]) =>
    purpose === undefined ? [] : [{ property, purpose }],
  )
