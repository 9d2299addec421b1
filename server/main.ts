import { readEnv } from './env.ts'
import { welcome } from './first-start.ts'
import { createLog } from './log.ts'
import { startService } from './service.ts'

try {
  const env = readEnv()
  const log = createLog(env.LOG_LEVEL)
  const service = await startService({ env, log })
  process.stdout.write(await welcome(service, env))

  let stopping = false
  const stop = async (signal: NodeJS.Signals) => {
    if (stopping) return
    stopping = true
    log.info({ signal }, 'stopping')
    await service.stop()
    process.exit(0)
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`)
  process.exit(1)
}
