import type { CallableAssistantRow } from '../../../entities/assistants/assistant.sql.ts'
import type { DeepReadonly } from '../../../entities/sql/read-only.ts'

export type CallableAssistant = DeepReadonly<CallableAssistantRow>

/** Finds a version of an assistant by its handle; null stands for the published one. It says nothing about who may use it. */
export type FindAssistant = (handle: string, version: number | null) => Promise<CallableAssistant | undefined>

/** The assistants that are asked, cached in this process. */
export interface CallableAssistants {
  /** Reads the assistant from the database. */
  find: FindAssistant
  /** Returns the cached assistant with its version of the catalogue, or reads the assistant from the database. */
  findCached: FindAssistant
}
