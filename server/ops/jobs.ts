import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../routers/ports/log.ts'

/** Work that a service repeats beside its requests. All replicas do it, so a job must bear that another runs at the same time. */
export interface Job {
  name: string
  /** Milliseconds between the end of one run and the start of the next. */
  period: number
  /** Ends early where the signal says that the service stops. */
  run(signal: AbortSignal): Promise<unknown>
}

const FIRST_RUN_MS = 60_000

/**
 * Runs each job within a minute of the start and then once a period; one that fails is logged and tried again a period later.
 * Returns a function that stops them, and waits for those that are running.
 */
export function startJobs(jobs: readonly Job[], log: Log): () => Promise<void> {
  const stopping = new AbortController()
  const running = jobs.map((job) => repeat(job, stopping.signal, log))
  return async () => {
    stopping.abort()
    await Promise.all(running)
  }
}

async function repeat({ name, period, run }: Job, signal: AbortSignal, log: Log): Promise<void> {
  const wait = (ms: number) => pause(ms, undefined, { signal, ref: false }).catch(() => {})
  await wait(Math.min(period, FIRST_RUN_MS))
  while (!signal.aborted) {
    await run(signal).catch((error: unknown) => log.error({ job: name, error }, 'a job failed'))
    await wait(period)
  }
}
