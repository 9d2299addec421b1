import { Writable } from 'node:stream'
import { createLog } from '../../server/ops/log.ts'

/** The log as it is, with the lines that it wrote. */
export function keepLog() {
  const lines: string[] = []
  const sink = new Writable({
    write(chunk, _, done) {
      lines.push(String(chunk))
      done()
    },
  })
  return Object.assign(createLog('info', sink), { lines })
}
