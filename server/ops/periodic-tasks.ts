import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../../routers/ports/log.ts'
import { recordWork, type Traces } from '../../routers/ports/traces.ts'

/** Work that a service repeats beside its requests. All replicas do it, so a task must bear that another runs at the same time. */
export interface PeriodicTask {
  name: string
  /** Milliseconds between the end of one run and the start of the next. */
  period: number
  /** Ends early where the signal says that the service stops. */
  run(signal: AbortSignal): Promise<unknown>
}

const FIRST_RUN_MS = 60_000

interface TasksOptions {
  log: Log
  traces?: Traces | undefined
  /** Milliseconds from the start within which each runs first; a minute by default. */
  firstRunMs?: number | undefined
}

/**
 * Runs each task soon after the start and then once a period; one that fails is logged and tried again a period later.
 * Returns a function that stops them, and waits for those that are running.
 */
export function startPeriodicTasks(tasks: readonly PeriodicTask[], options: TasksOptions): () => Promise<void> {
  const stopping = new AbortController()
  const running = tasks.map((task) => repeat(task, stopping.signal, options))
  return async () => {
    stopping.abort()
    await Promise.all(running)
  }
}

async function repeat(
  { name, period, run }: PeriodicTask,
  signal: AbortSignal,
  { log, traces, firstRunMs = FIRST_RUN_MS }: TasksOptions,
): Promise<void> {
  const wait = (ms: number) => pause(ms, undefined, { signal, ref: false }).catch(() => {})
  await wait(Math.min(period, firstRunMs))
  while (!signal.aborted) {
    await recordWork(traces?.begin(name), () => run(signal)).catch((error: unknown) =>
      log.error({ task: name, error }, 'a periodic task failed'),
    )
    await wait(period)
  }
}
