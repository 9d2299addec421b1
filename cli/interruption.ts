import { constants } from 'node:os'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** A terminal and npm both pass on one Ctrl-C: what comes this soon after the first is no second. */
const SAME_SIGNAL_MS = 500

/** What may end a command before it is done. */
interface Interruption {
  /** Aborted as soon as a signal comes or standard output cannot be written any more. */
  signal: AbortSignal
  /** Rejects once `signal` is aborted, else as the task does. A task is not begun after it. */
  orEnd<T>(task: () => Promise<T>): Promise<T>
  /** Ends the process with 128 and the number of the signal that came; without one, signals are no longer caught. */
  release(): void
}

/**
 * Catches Ctrl-C, `kill` and a closed terminal, so that a command closes what it opened before it ends. A second signal
 * ends the process at once: a database that it started then runs on until the next start takes it over.
 */
export function catchInterruption(): Interruption {
  const ending = new AbortController()
  const { signal } = ending
  const aborted = new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  // Nobody may wait for it yet.
  aborted.catch(() => {})
  let caught: { name: NodeJS.Signals; at: number } | undefined
  const exit = (name: NodeJS.Signals) => process.exit(128 + constants.signals[name])
  const onSignal = (name: NodeJS.Signals) => {
    if (caught && performance.now() - caught.at > SAME_SIGNAL_MS) exit(caught.name)
    caught ??= { name, at: performance.now() }
    ending.abort(new Error(`Ended by ${name}.`))
  }
  const onError = (error: Error) => ending.abort(error)
  for (const name of signals) process.on(name, onSignal)
  process.stdout.on('error', onError)
  return {
    signal,
    async orEnd(task) {
      signal.throwIfAborted()
      return await Promise.race([aborted, task()])
    },
    release() {
      for (const name of signals) process.off(name, onSignal)
      process.stdout.off('error', onError)
      if (caught) exit(caught.name)
    },
  }
}
