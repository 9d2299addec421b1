import type { EntityManager } from '@mikro-orm/postgresql'
import { ProviderServer } from '../../entities/catalogue/provider-server.ts'
import type { Services } from '../core/services.ts'
import { FURTHER_API_KEY, type Vault } from '../ports/vault.ts'
import type { Resource } from '../resource/declare.ts'

/** Seals with the current key what an earlier one sealed, so that the earlier one can be dropped. */
export async function renewSecrets(em: EntityManager, services: Pick<Services, 'resources' | 'vault'>): Promise<void> {
  const { resources, vault } = services
  for (const of of resources.all)
    for (const { property, purpose } of secretsOf(of)) {
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

const secretsOf = ({ attributes }: Resource) =>
  Object.entries(attributes).flatMap(([name, { property = name, sealed: purpose }]) =>
    purpose === undefined ? [] : [{ property, purpose }],
  )
