import { flushCompileCache } from 'node:module'
import { inWords, openLog, usesWords } from './ops/log.ts'
import { StandardOutput } from './ops/standard-output.ts'
import { readWholeEnv } from './preflight.ts'
import { welcome } from './welcome.ts'

// Heard from the first moment on, so that a start is never left half way; signals after the first change nothing. A terminal
// that is closed sends SIGHUP.
const asked = new Promise<NodeJS.Signals>((stop) => {
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.on('SIGHUP', stop)
})
const stopping = new AbortController()
asked.then(() => stopping.abort())

try {
  const env = await readWholeEnv()
  // Loaded only now: who is told that a setting is wrong does not wait for the whole service.
  const [{ startService }, { openAppSource }] = await Promise.all([import('./service.ts'), import('./app-source.ts')])
  // One way out, so that the welcome comes after the lines before it.
  const out = new StandardOutput()
  const isTerminal = Boolean(process.stdout.isTTY)
  const isInWords = usesWords(env.LOG_FORMAT, isTerminal)
  const lines = isInWords ? await inWords(out, isTerminal && !env.variables['NO_COLOR']) : out
  const { log, telemetry } = await openLog(env, lines)
  const appSource = await openAppSource(env, log)
  const notify = (sentence: string) => log.warn(sentence)
  const service = await startService({ env, log, telemetry, appSource, notify, signal: stopping.signal })
  try {
    await welcome(service, { env, isInWords, print: (text) => out.write(text) })
    // Written now, because a killed process does not reach its end.
    flushCompileCache()
    log.info({ signal: await asked }, 'stopping')
  } finally {
    await service.stop()
  }
  process.exit(0)
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exit(1)
}
