import { createContext } from '../routers/core/context.ts'
import type { Services } from '../routers/core/services.ts'
import { type Api, createCaller } from '../routers/index.ts'
import type { JobHandlers } from '../routers/ports/job-queue.ts'

/** What is done with the jobs that calls leave behind. */
export function handlersOf(services: Services): JobHandlers {
  const host = (signal?: AbortSignal): Api =>
    createCaller(() =>
      createContext(services, { origin: 'host', requestId: 'job', ...(signal && { signal: () => signal }) }),
    )
  return {
    'extract-text': {
      run: (input, signal) => host(signal).attachments.readText(input),
      giveUp: (input) => host().attachments.giveUpText(input),
    },
  }
}
