import type { UsageType } from '../../../entities/sql/columns.ts'
import type { CallableModel } from './models.ts'

/** Finds the model of a name in requests that this usage type may use, and that makes answers or embeddings. */
export type FindModel = (
  name: string,
  usage: UsageType,
  makes: 'chat' | 'embedding',
) => Promise<CallableModel | undefined>

/** The models that may be called, as this process saw them last. */
export interface CallableModels {
  /** As the database says. */
  find: FindModel
  /**
   * Prepares a call, and reserves for it. What was seen may be outdated: where the question is refused by it, or when the call is
   * reserved for, all of it is done again by what the database says. Nothing may be left of a call that failed.
   */
  prepare<Call>(work: (find: FindModel) => Promise<Call>): Promise<Call>
}

/** The catalogue is another one than that by which calls were prepared. Nothing is reserved then. */
export class CatalogueOutdated extends Error {
  override name = 'Outdated'
}
