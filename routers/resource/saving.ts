import type { EntityManager } from '@mikro-orm/core'
import type { Vault } from '../ports/vault.ts'

/** The row whose attribute is written, in the transaction that locked it. */
export interface Saving {
  em: EntityManager
  id: number
  vault: Vault
}
