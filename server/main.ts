import { flushCompileCache } from 'node:module'
import { printBanner } from './first-run-banner.ts'
import { createPrettyOutput, openLog, shouldPrettyPrint } from './ops/log.ts'
import { StandardOutput } from './ops/standard-output.ts'
import { watchUncaughtErrors } from './ops/uncaught-errors.ts'
import { readValidatedEnv } from './preflight.ts'

// Listens for signals from the first moment, so that no start is interrupted halfway. Signals after the first one change nothing.
// A terminal that is closed sends SIGHUP.
const stopSignal = new Promise<NodeJS.Signals>((stop) => {
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('SIGHUP', stop)
})
const uncaught = Promise.withResolvers<void>()
const stopping = new AbortController()
const stop = Promise.race([stopSignal, uncaught.promise]).finally(() => stopping.abort())

/** Milliseconds beyond the settings' own limits within which a process with an uncaught error has stopped in order. */
const STOP_LIMIT_MS = 60_000

try {
  const env = await readValidatedEnv()
  // The service is loaded only after the settings are valid, so that an error message comes without that wait.
  const [{ startService }, { openAppSource }] = await Promise.all([import('./service.ts'), import('./app-source.ts')])
  // The banner and the log share one output, which keeps their order.
  const out = new StandardOutput()
  const isTerminal = Boolean(process.stdout.isTTY)
  const isPretty = shouldPrettyPrint(env.LOG_FORMAT, isTerminal)
  const destination = isPretty ? await createPrettyOutput(out, isTerminal && !env.variables['NO_COLOR']) : out
  const { log, telemetry } = await openLog(env, destination)
  watchUncaughtErrors({
    log,
    stop() {
      process.exitCode = 1
      const limit = STOP_LIMIT_MS + (env.DRAIN_DELAY ?? 0) + env.SHUTDOWN_TIMEOUT
      setTimeout(() => process.exit(), limit).unref()
      uncaught.resolve()
    },
  })
  const appSource = await openAppSource(env, log)
  const notify = (sentence: string) => log.warn(sentence)
  const service = await startService({ env, log, telemetry, appSource, notify, signal: stopping.signal })
  try {
    await printBanner(service, { env, isPretty, print: (text) => out.write(text) })
    // The compile cache is written now, because a killed process never reaches its exit handlers.
    flushCompileCache()
    log.info({ signal: await stop }, 'stopping')
  } finally {
    await service.stop()
  }
  process.exit()
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exit(1)
}
