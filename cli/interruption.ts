import { constants } from 'node:os'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** What may end a command before it is done. */
interface Interruption {
  /** Rejects as soon as a signal comes or nobody reads standard output any more; else as the task does. */
  orEnd<T>(task: Promise<T>): Promise<T>
  /** Ends the process with 128 and the number of the signal that came; without one, signals are no longer caught. */
  release(): void
}

/** Catches Ctrl-C, `kill` and a closed terminal, so that a command closes what it opened before it ends. */
export function catchInterruption(): Interruption {
  const { promise, reject } = Promise.withResolvers<never>()
  // Nobody may wait for it yet.
  promise.catch(() => {})
  let caught: NodeJS.Signals | undefined
  const onSignal = (signal: NodeJS.Signals) => {
    caught ??= signal
    reject(new Error(`Ended by ${signal}.`))
  }
  for (const signal of signals) process.on(signal, onSignal)
  process.stdout.on('error', reject)
  return {
    orEnd: (task) => Promise.race([promise, task]),
    release() {
      for (const signal of signals) process.off(signal, onSignal)
      process.stdout.off('error', reject)
      if (caught) process.exit(128 + constants.signals[caught])
    },
  }
}
