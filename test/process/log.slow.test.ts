import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { startApp } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'
import { createDataFolder, root, startProcess } from '../kit/service-process.ts'

/** Starts a process that logs an error and exits at once. */
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
    timeout: 60_000,
    maxBuffer: 10_000_000,
  })
}

const endings = [
  ['process.exit(1)', 1],
  ['throw new Error()', 1],
  ['Promise.reject(new Error())', 1],
  ['', 0],
] as const

test.for(endings)('an error logged just before the process ends by %j reaches standard output', async ([ending]) => {
  const lines: string[] = []
  const child = logAndEnd(ending)
  child.stdout?.on('data', (text) => lines.push(...text.trim().split('\n')))

  await once(child, 'close')

  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ msg: 'internal_error', error: expect.objectContaining({ message: 'a last word' }) }),
  ])
})

test.for(endings)('a process whose reader is gone ends by %j with the code %d, too', async ([ending, code]) => {
  const child = logAndEnd(ending)
  child.stdout?.destroy()

  expect(await once(child, 'close')).toEqual([code, null])
})

test('a stalled log reader costs 4 MB at most, and dropped lines are counted', async () => {
  const child = logAndEnd(`
    for (let at = 0; at < 60_000; at++) lines.info('x'.repeat(100))
    process.stdin.resume()
  `)
  let output = ''
  child.stdout?.on('data', (text: string) => {
    output += text
    if (output.includes('dropped') && output.endsWith('\n')) child.stdin?.end()
  })

  await once(child, 'close')

  const lines = output
    .trim()
    .split('\n')
    .map((line): { msg: string; lines?: number } => JSON.parse(line))
  const [dropped, ...others] = lines.filter(({ msg }) => msg.includes('dropped'))
  expect(others).toEqual([])
  expect(dropped?.lines).toBe(60_000 + 2 - lines.length)
})

/** Starts a new installation at a terminal and returns its output up to the first command. */
async function startAtTerminal(settings: Record<string, string>) {
  await using resources = new AsyncDisposableStack()
  const folder = resources.use(await createDataFolder())
  const database = resources.use(await cloneDatabase())
  const command = `stty cols 200; exec ${manifest.scripts.start}`
  const service = resources.use(
    startProcess({ DATA_DIR: folder.path, DATABASE_URL: database.url, PORT: '0', ...settings }, [
      'script',
      '--quiet',
      '--flush',
      '--command',
      command,
      '/dev/null',
    ]),
  )
  await vi.waitFor(() => expect(service.output.out).toMatch(/Next:[\s\S]*\}\]\}\}'/), { timeout: 60_000, interval: 20 })
  const kept = resources.move()
  const lines = service.output.out.replaceAll('\r', '').split('\n')
  return { lines, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

test('a first start at a terminal prints sentences and a block of labelled values', async () => {
  await using terminal = await startAtTerminal({ NO_COLOR: '1' })
  const { lines } = terminal
  const labels = lines.map((line) => /^ {4}(\w+) +\S+$/.exec(line)?.[1]).filter(Boolean)

  expect(lines.filter((line) => line.startsWith('{'))).toEqual([])
  expect(lines.find((line) => line.includes('the models were synchronised'))).toMatch(
    /^\[\d\d:\d\d:\d\d\] INFO: the models/,
  )
  expect(labels).toEqual(['Address', 'User', 'Password', 'Token'])
})

test('LOG_FORMAT=json writes lines of JSON at a terminal, too', async () => {
  await using terminal = await startAtTerminal({ LOG_FORMAT: 'json' })
  const [first = ''] = terminal.lines

  expect(JSON.parse(first)).toMatchObject({ msg: 'the models were synchronised' })
})

test('probes are logged when what they find changes, and other requests always', async () => {
  await using svc = await startApp()
  const probe = (path: string) => svc.send('GET', path)
  for (let round = 0; round < 5; round++)
    for (const path of ['/health/ready', '/health/live', '/docs']) await probe(path)

  const logged = () =>
    svc.log
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === 'request')
      .map(({ route, status }) => `${route} ${status}`)
  await expect.poll(() => logged().filter((line) => line === '/docs 200')).toHaveLength(5)
  expect(logged().filter((line) => line.startsWith('/health'))).toEqual(['/health/ready 200', '/health/live 200'])
})

test('probes that fail are all logged', async () => {
  await using svc = await startApp({ REDIS_URL: 'redis://127.0.0.1:1', HEALTH_DEEP_EVERY: '1' })
  for (let round = 0; round < 3; round++) expect((await svc.send('GET', '/health')).status).toBe(503)

  await expect.poll(() => svc.log.filter((line) => line.includes('"route":"/health"'))).toHaveLength(3)
})
