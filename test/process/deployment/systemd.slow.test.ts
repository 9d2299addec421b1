import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, vi } from 'vitest'
import { answers, buildQuestion, startProvider, writeConfig } from '../../kit/ai/provider.ts'
import { send } from '../../kit/app.ts'
import { openBrowser } from '../../kit/browser.ts'
import { fillEnvFile, TYPED_PASSWORD } from '../../kit/compose/deployment.ts'
import { buildImage } from '../../kit/compose/image.ts'
import { createEmptyDatabase } from '../../kit/database.ts'
import { findFreePort } from '../../kit/free-port.ts'
import { testWith } from '../../kit/parts/with-parts.ts'
import { root } from '../../kit/service-process.ts'

const run = promisify(execFile)

const guide = await readFile(join(root, 'server/README.md'), 'utf8')
const [, unit = ''] = /^```ini\n(.*?)^```/ms.exec(guide) ?? []
/** The directives of the unit by name; the last one where a name repeats. */
const directives: Record<string, string> = Object.fromEntries(
  [...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
)

testWith('systemd')('the unit of the guide is one that systemd takes without a word', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-unit-'))
  const file = join(folder, 'svc.service')
  await writeFile(file, unit)
  const { stdout, stderr } = await run('systemd-analyze', ['verify', '--man=no', file]).finally(() =>
    rm(folder, { recursive: true }),
  )

  expect(stdout + stderr).toBe('')
})

/** Replaces a folder of the guide by the one of this test. */
type Places = Record<string, string>
const placed = (text: string, places: Places) =>
  Object.entries(places).reduce((now, [from, to]) => now.replaceAll(from, to), text)

/** Follows the comments of `.env.example` about a start without Docker. */
async function writeEnv(folder: string, baseUrl: string, places: Places): Promise<void> {
  const file = join(folder, '.env')
  await copyFile(join(root, '.env.example'), file)
  await fillEnvFile(file, baseUrl)
  const text = await readFile(file, 'utf8')
  const [, lines = ''] = /^# Without Docker: .*\n((?:# [A-Z_]+=.*\n)+)/m.exec(text) ?? []
  await writeFile(file, `${text}\n${placed(lines.replace(/^# /gm, ''), places)}`)
}

testWith('postgres')('a service started by the unit is in production, and its commands manage it', async () => {
  await using resources = new AsyncDisposableStack()
  const provider = resources.use(await startProvider(answers('Good day.')))
  const config = resources.use(await writeConfig(provider.url))
  const database = resources.use(await createEmptyDatabase())
  const image = resources.use(await buildImage({ isInstalled: false }))
  const data = join(image.folder, 'data')
  await mkdir(data)
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const places = {
    'PORT=3000': `PORT=${port}`,
    'postgresql://svc:PASSWORD@127.0.0.1:5432/svc': database.url,
    '/srv/svc/ai.yaml': config.file,
    '/srv/svc': image.folder,
    '/var/lib/svc': data,
  }
  await writeEnv(image.folder, url, places)
  await chmod(join(image.folder, '.env'), 0o640)
  const { ExecStart = '', WorkingDirectory = '', Environment = '', KillSignal = '', User } = directives
  const cwd = placed(WorkingDirectory, places)
  // The environment that systemd gives a unit, and nothing else.
  const env = { PATH: image.path, ...Object.fromEntries([Environment.split('=')]) }
  const [program = '', ...words] = ExecStart.split(' ')
  const service = spawn(program, words, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  resources.defer(() => void service.kill('SIGKILL'))
  let log = ''
  service.stdout.on('data', (text) => {
    log += text
  })
  await vi.waitFor(() => expect(log).toContain('"msg":"ready"'), { timeout: 60_000, interval: 50 })
  const [, command = ''] = new RegExp(`^runuser -u ${User} -- (.*)$`, 'm').exec(guide) ?? []
  const adding = run('sh', ['-c', command], { cwd, env: { PATH: image.path } })
  adding.child.stdin?.end(`${TYPED_PASSWORD}\n`)

  expect((await adding).stdout).toContain('User ada is added')
  expect(await readFile(join(data, 'accounts.json'), 'utf8')).not.toContain('demo')
  const { body } = await openBrowser(url).login('ada', TYPED_PASSWORD)
  expect(body).toMatchObject({ success: true })
  const made = await run('sh', ['-c', 'npm run --silent svc -- token --username ada --name laptop --json'], {
    cwd,
    env: { PATH: image.path },
  })
  const { token } = JSON.parse(made.stdout)
  expect((await send(url, 'POST', '/api/ai-req', { token, body: buildQuestion('Hello', 'mock-1') })).status).toBe(200)

  service.kill(KillSignal as NodeJS.Signals)
  expect(await once(service, 'exit')).toEqual([0, null])
  expect(Number(directives['TimeoutStopSec'])).toBeGreaterThanOrEqual(40)
})
