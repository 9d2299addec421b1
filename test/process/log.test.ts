import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../kit/service-process.ts'

/** What a process leaves on standard output that logs an error and ends at once. */
function logAndEnd(ending: string): Promise<string> {
  const log = JSON.stringify(join(root, 'server/ops/log.ts'))
  const script = `
    const { createLog } = await import(${log})
    createLog('info').error({ error: new Error('a last word') }, 'internal_error')
    ${ending}
  `
  return new Promise((resolve) => {
    execFile(process.execPath, ['--input-type=module', '--eval', script], (_, stdout) => resolve(stdout))
  })
}

test.for(['process.exit(1)', 'throw new Error()', 'Promise.reject(new Error())', ''])(
  'an error that was just logged reaches standard output where the process ends by %j',
  async (ending) => {
    const lines = (await logAndEnd(ending)).trim().split('\n')

    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ msg: 'internal_error', error: expect.objectContaining({ message: 'a last word' }) }),
    ])
  },
)
