import type { EntityManager } from '@mikro-orm/postgresql'

/** What a job of each name is given. */
export interface JobInputs {
  'extract-text': { attachmentId: number }
  'export-person': { exportId: number }
}

export type JobName = keyof JobInputs

export interface PlannedJob<Name extends JobName> {
  input: JobInputs[Name]
  /** Of jobs that wait, the one with the highest priority is next; 0 where it says nothing. */
  priority?: number
}

/** Work behind the requests. Any replica does it, one at a time; where that one dies or fails, another tries again. */
export interface JobQueue {
  /** Plans a job in the transaction of the entity manager: it begins soon after the commit, and never without one. */
  enqueue<Name extends JobName>(em: EntityManager, name: Name, job: PlannedJob<Name>): Promise<void>
  /** Plans a job for each input that none waits for and none is under way for; returns how many those are. */
  enqueueLost<Name extends JobName>(em: EntityManager, name: Name, inputs: readonly JobInputs[Name][]): Promise<number>
}

export interface JobHandler<Input> {
  /** May be carried out more than once. The signal ends where the service stops or the job takes too long. */
  run(input: Input, signal: AbortSignal): Promise<unknown>
  /** Carried out where `run` has failed for the last time. */
  giveUp(input: Input): Promise<unknown>
}

export type JobHandlers = { readonly [Name in JobName]: JobHandler<JobInputs[Name]> }
