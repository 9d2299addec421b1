import type { EntityManager } from '@mikro-orm/postgresql'
import type { SealedConnection } from '../../entities/catalogue/mcp-connection.sql.ts'

/** Inputs of jobs, by the name of the job. */
export interface JobInputs {
  'extract-text': { attachmentId: number }
  'read-knowledge': { fileId: number }
  'embed-knowledge': { embeddingId: number }
  'export-person': { exportId: number }
  /** Sealed tokens whose connections are gone. */
  'revoke-accounts': { connections: SealedConnection[] }
}

export type JobName = keyof JobInputs

export interface PlannedJob<Name extends JobName> {
  input: JobInputs[Name]
  /** Waiting jobs with higher priority run first; the default is 0. */
  priority?: number
  /** Seconds until it may start; the default is 0. */
  delaySeconds?: number
}

/** A queue of background jobs. Any replica runs them, one at a time, and retries those of a failed replica. */
export interface JobQueue {
  /** Adds a job in the transaction of the entity manager; it starts soon after the commit. */
  enqueue<Name extends JobName>(em: EntityManager, name: Name, job: PlannedJob<Name>): Promise<void>
  /** Adds a job for each input without a waiting or running job; returns their number. */
  enqueueLost<Name extends JobName>(em: EntityManager, name: Name, inputs: readonly JobInputs[Name][]): Promise<number>
}

export interface JobHandler<Input> {
  /** Runs the job, perhaps more than once. The signal aborts when the service stops or the job takes too long. */
  run(input: Input, signal: AbortSignal): Promise<unknown>
  /** Called after `run` has failed for the last time. */
  giveUp(input: Input): Promise<unknown>
}

export type JobHandlers = { readonly [Name in JobName]: JobHandler<JobInputs[Name]> }
