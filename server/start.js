import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// The one file in JavaScript: what Node strips types with takes a tenth of the service's memory, and nothing cached needs it.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/svc'))

/** The thread pool reads its size when it is first used, which no module before this line does. Windows reads it earlier, and keeps four. */
process.env['UV_THREADPOOL_SIZE'] ??= '8'

/** `npm start` has a shell between itself and us, and a shell that is told to stop ends without a word: the service then stops, too. */
const PARENT_CHECK_MS = 250

if (process.env['npm_lifecycle_event']) {
  const shell = process.ppid
  const check = setInterval(() => {
    if (process.ppid === shell) return
    clearInterval(check)
    process.kill(process.pid, 'SIGTERM')
  }, PARENT_CHECK_MS).unref()
}

await import('./main.ts')
