import type { Log } from '../../routers/ports/log.ts'

interface IntervalOptions {
  /** Milliseconds between the starts of two runs. */
  period: number
  log: Log
  /** Message for the log, once per series of failures. */
  failure: string
}

/** Repeats a task, never concurrently; a failed run is retried at the next interval. Returns a function that stops it. */
export function startInterval(run: () => Promise<void>, { period, log, failure }: IntervalOptions): () => void {
  let isRunning = false
  let hasFailed = false
  let isStopped = false
  const onFailure = (error: unknown) => {
    if (!hasFailed && !isStopped) log.warn({ error }, failure)
    hasFailed = true
  }
  const onSuccess = () => {
    hasFailed = false
  }
  const timer = setInterval(async () => {
    if (isRunning) return
    isRunning = true
    await run().then(onSuccess, onFailure)
    isRunning = false
  }, period).unref()
  return () => {
    isStopped = true
    clearInterval(timer)
  }
}
