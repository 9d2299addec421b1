import { Writable } from 'node:stream'
import { createLog } from '../../server/ops/log.ts'

/** A log that nobody reads. */
export const createSilentLog = () => createLog('silent', new Writable({ write: (_, __, done) => done() }))

/** The log as it is, with the lines that it wrote. */
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
