import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../kit/service-process.ts'

/** A process that logs an error and ends at once. */
function logAndEnd(ending: string) {
  const [log, output] = ['log', 'standard-output'].map((name) => JSON.stringify(join(root, `server/ops/${name}.ts`)))
  const script = `
    const { createLog } = await import(${log})
    const { StandardOutput } = await import(${output})
    const lines = createLog('info', new StandardOutput())
    lines.error({ error: new Error('a last word') }, 'internal_error')
    ${ending}
  `
  return execFile(process.execPath, ['--input-type=module', '--eval', script], {
    timeout: 30_000,
    maxBuffer: 10_000_000,
  })
}

const endings = [
  ['process.exit(1)', 1],
  ['throw new Error()', 1],
  ['Promise.reject(new Error())', 1],
  ['', 0],
] as const

test.for(endings)(
  'an error that was just logged reaches standard output where the process ends by %j',
  async ([ending]) => {
    const lines: string[] = []
    const child = logAndEnd(ending)
    child.stdout?.on('data', (text) => lines.push(...text.trim().split('\n')))

    await once(child, 'close')

    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ msg: 'internal_error', error: expect.objectContaining({ message: 'a last word' }) }),
    ])
  },
)

test.for(endings)('a process whose reader is gone ends by %j with the code %d, too', async ([ending, code]) => {
  const child = logAndEnd(ending)
  child.stdout?.destroy()

  expect(await once(child, 'close')).toEqual([code, null])
})

test('a reader that takes nothing costs 4 MB at most: further lines are dropped, and their number is told', async () => {
  const child = logAndEnd(`
    for (let at = 0; at < 60_000; at++) lines.info('x'.repeat(100))
    process.stdin.resume()
  `)
  let told = ''
  child.stdout?.on('data', (text: string) => {
    told += text
    if (told.includes('dropped') && told.endsWith('\n')) child.stdin?.end()
  })

  await once(child, 'close')

  const lines = told
    .trim()
    .split('\n')
    .map((line): { msg: string; lines?: number } => JSON.parse(line))
  const [dropped, ...others] = lines.filter(({ msg }) => msg.includes('dropped'))
  expect(others).toEqual([])
  expect(dropped?.lines).toBe(60_000 + 2 - lines.length)
})
