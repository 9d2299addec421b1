import { BulkheadRejectedError, bulkhead } from 'cockatiel'
import { Problem } from '../problems.ts'

export type Bulkhead = <Result>(work: () => Promise<Result>) => Promise<Result>

/** Runs at most `running` pieces of work at a time, while at most `waiting` more wait their turn; refuses any beyond. */
export function createBulkhead(running: number, waiting: number): Bulkhead {
  const policy = bulkhead(running, waiting)
  return (work) =>
    policy.execute(work).catch((error: unknown) => {
      throw error instanceof BulkheadRejectedError ? new Problem('busy', { cause: error }) : error
    })
}
