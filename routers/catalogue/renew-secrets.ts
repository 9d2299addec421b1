import type { EntityManager } from '@mikro-orm/postgresql'
import type { Services } from '../core/services.ts'
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
}

const secretsOf = ({ attributes }: Resource) =>
  Object.entries(attributes).flatMap(([name, { property = name, sealed: purpose }]) =>
    purpose === undefined ? [] : [{ property, purpose }],
  )
