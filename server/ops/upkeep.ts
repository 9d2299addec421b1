import type { Log } from '../../routers/ports/log.ts'

/** What is done again and again behind the requests, by its name in the log. */
export type UpkeepTasks = Readonly<Record<string, () => Promise<unknown>>>

const FIRST_MS = 60_000
const INTERVAL_MS = 60 * 60_000

/** Carries out the tasks a minute after the start, then every hour; one that fails is tried again the next time. Returns the way to stop. */
export function startUpkeep(tasks: UpkeepTasks, log: Log): () => Promise<void> {
  let running = Promise.resolve()
  const run = async () => {
    for (const [name, task] of Object.entries(tasks))
      await task().catch((error: unknown) => log.error({ name, error }, 'upkeep failed'))
    timer = plan(INTERVAL_MS)
  }
  const plan = (delay: number) => setTimeout(() => (running = run()), delay).unref()
  let timer = plan(FIRST_MS)
  return async () => {
    clearTimeout(timer)
    await running
    clearTimeout(timer)
  }
}
