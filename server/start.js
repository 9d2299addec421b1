import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

// This file is JavaScript because Node's type stripper takes a tenth of the service's memory, and cached modules do not need it.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/svc'))

// The thread pool reads its size at its first use, which is after this line. Windows reads it earlier and keeps four threads.
process.env['UV_THREADPOOL_SIZE'] ??= '8'

/** Interval of the check whether the parent is alive. `npm start` runs a shell that ends at a signal without forwarding it; the service then stops, too. */
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
