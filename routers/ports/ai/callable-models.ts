import type { UsageType } from '../../../entities/sql/columns.ts'
import type { CallableModel } from './models.ts'

/** Finds a chat or embedding model by its name in requests, if the usage type may use it. */
export type FindModel = (
  name: string,
  usage: UsageType,
  makes: 'chat' | 'embedding',
) => Promise<CallableModel | undefined>

/** The callable models, cached in this process. */
export interface CallableModels {
  /** Reads the model from the database. */
  find: FindModel
  /** Returns the cached model with its version of the catalogue, or reads the model from the database. */
  findCached: FindModel
}

/** Thrown if the catalogue has changed since the call was prepared; nothing is reserved then. */
export class CatalogueOutdated extends Error {
  override name = 'CatalogueOutdated'
}
