import { Writable } from 'node:stream'
import { createLog } from '../../server/ops/log.ts'

/** Creates a log without output. */
export const createSilentLog = () => createLog('silent', new Writable({ write: (_, __, done) => done() }))

/** Creates a log that records its lines. */
export function recordLog() {
  const lines: string[] = []
  const sink = new Writable({
    write(chunk, _, done) {
      lines.push(String(chunk))
      done()
    },
  })
  return Object.assign(createLog('info', sink), { lines })
}
