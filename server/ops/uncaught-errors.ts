import type { FastifyBaseLogger } from 'fastify'
import { takeScope } from '../net/fault-scope.ts'

interface UncaughtErrorOptions {
  log: Pick<FastifyBaseLogger, 'error' | 'fatal'>
  /** Is called once, after the first error that must end the process. */
  stop(): void
}

/**
 * Logs every error that nothing caught, with the work that it came from. An outbound call or a socket ends alone; after any
 * other error the state of the process is unknown, so it stops.
 */
export function watchUncaughtErrors({ log, stop }: UncaughtErrorOptions): void {
  let isStopping = false
  const handle = (error: unknown) => {
    const { kind = 'process', names, end } = takeScope(error) ?? {}
    const details = { part: kind, ...names, error }
    if (end) {
      log.error(details, 'an error that nothing caught ends the work that it came from')
      return end(error)
    }
    log.fatal(details, 'an error that nothing caught ends the process')
    if (!isStopping) stop()
    isStopping = true
  }
  process.on('uncaughtException', handle)
  process.on('unhandledRejection', handle)
}
