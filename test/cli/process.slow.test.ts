import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, inject, test, vi } from 'vitest'
import { adaFlags, type CommandResult, runCommand } from '../kit/command-line.ts'
import { createDataFolder, startProcess } from '../kit/service-process.ts'

// Each test starts several processes, some of which make a database first.
vi.setConfig({ testTimeout: 180_000 })

const file = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
const token = ['token', '--username', 'ada', '--name', 'laptop']

test("a command whose reader is gone ends silently with the signal's exit code", async () => {
  const child = spawn(process.execPath, [file('cli/svc.ts'), '--help'])
  child.stdout.destroy()

  const [[exitCode], errorOutput] = await Promise.all([once(child, 'close'), text(child.stderr)])

  expect([exitCode, errorOutput]).toEqual([141, ''])
})

test('a command that cannot open its services ends, though Redis is out of reach', async () => {
  await using machine = await dataFolder()
  await mkdir(machine.dataDir)
  const extension = join(machine.dataDir, 'extension.mjs')
  await writeFile(extension, 'throw new Error("out of order")')

  const ended = await machine.svcWith({ EXTENSIONS: extension, REDIS_URL: 'redis://127.0.0.1:1' }, 'users')

  expect(ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('out of order') })
})

test('while the service is stopped, only migrate creates a missing data folder', async () => {
  await using machine = await dataFolder()

  const refusals = await Promise.all([machine.inProcess(...token), machine.inProcess('models', 'list')])

  for (const { exitCode, stdout, stderr } of refusals) {
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^There is no data folder .*data here\..*set DATA_DIR.*\n$/)
  }
  expect(existsSync(machine.dataDir)).toBe(false)
  expect(await machine.inProcess('migrate')).toMatchObject({ exitCode: 0, stderr: '' })
  expect(await machine.inProcess('migrate')).toMatchObject({ exitCode: 0, stdout: 'The database is up to date.\n' })
})

test('while the service is stopped, concurrent commands succeed before a starting service', async () => {
  await using machine = await dataFolder()
  await mkdir(machine.dataDir)
  const add = (name: string) =>
    machine.svc('add-user', '--username', name, '--email', `${name}@example.org`, '--name', name, '--json')

  // The folder is empty, so the first of the two commands creates the database.
  const added = await Promise.all(['ada', 'bob'].map(add))

  expect(added).toMatchObject([{ exitCode: 0 }, { exitCode: 0 }])
  expect(added.map(({ stdout }) => JSON.parse(stdout).id).toSorted()).toEqual([2, 3])

  const promoting = machine.svc('set-role', '--username', 'ada', '--role', 'admin', '--json')
  const making = machine.svc(...token, '--abilities', 'ai,user,read', '--expires', '90d', '--json')
  await using service = await machine.start()

  expect(await promoting).toMatchObject({ exitCode: 0 })
  const made = await making
  expect(made.exitCode).toBe(0)
  expect(JSON.parse(made.stdout)).toEqual({ id: 1, name: 'laptop', token: expect.any(String) })
  expect(await service.who(JSON.parse(made.stdout).token)).toBe(200)
  expect(service.process.exitCode).toBe(null)
})

test('while the service runs, tokens work and stop at once by commands', async () => {
  await using machine = await dataFolder()
  await using service = await machine.start()

  await machine.inProcess('add-user', ...adaFlags)
  const made = [machine.inProcess(...token, '--json'), machine.inProcess(...token, '--json')]
  const [one, two] = (await Promise.all(made)).map(({ stdout }) => JSON.parse(stdout))
  expect([await service.who(one.token), await service.who(two.token)]).toEqual([200, 200])
  await machine.inProcess('token', '--revoke', '--username', 'ada', '--token-id', `${one.id}`, '--yes')
  expect([await service.who(one.token), await service.who(two.token)]).toEqual([401, 200])

  const removed = await machine.inProcess('remove-user', '--username', 'ada', '--yes', '--json')
  expect(await service.who(two.token)).toBe(401)
  expect(JSON.parse(removed.stdout)).toMatchObject({ username: 'ada', report: { access_tokens: { deleted: 1 } } })

  await Promise.all([machine.inProcess('models', 'list'), machine.inProcess('migrate')])
  expect((await fetch(`${service.url}/health`)).status).toBe(200)
})

test('the programs run by their files as under npx, and never prompt there', async () => {
  await using machine = await dataFolder()

  const help = await machine.execute(file('cli/svc.ts'), ['--help'])
  const command = await machine.execute(file('cli/svc-console.ts'), ['app:token'])

  expect(help).toMatchObject({ exitCode: 0, stderr: '', stdout: expect.stringContaining('update-avatar') })
  expect(command).toEqual({
    exitCode: 2,
    stdout: '',
    stderr: '--username, --email or --id is missing.\n--name is missing.\n',
  })
})

test('a migration whose generation is interrupted leaves no database running', async () => {
  await using data = await createDataFolder()
  const findFolder = async () => (await readdir(data.path)).find((name) => name.startsWith('svc-migration-'))
  const hasStarted = async () => existsSync(join(data.path, String(await findFolder()), 'data/postmaster.pid'))
  const command = [process.execPath, file('cli/svc.ts'), 'migrate', '--generate']
  await using generating = startProcess({ TMPDIR: data.path }, command)
  await expect.poll(hasStarted, { interval: 5 }).toBe(true)

  generating.signalAll('SIGINT')

  expect(await generating.ended).toBe(128 + constants.signals.SIGINT)
  expect(await findFolder()).toBe(undefined)
})

/** Creates a data folder with an embedded database, and runs processes on it without any other setting. */
async function dataFolder() {
  const folder = await mkdtemp(join(inject('runFolder'), 'process-'))
  const env = { PATH: process.env['PATH'], DATA_DIR: join(folder, 'data'), PORT: '0' }
  const launch = (command: string, argv: string[], settings: Record<string, string> = {}) =>
    spawn(command, argv, { env: { ...env, ...settings }, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
  const execute = (command: string, argv: string[]) => end(launch(command, argv))
  return {
    dataDir: env.DATA_DIR,
    execute,
    svc: (...argv: string[]) => execute(process.execPath, [file('cli/svc.ts'), ...argv]),
    svcWith: (settings: Record<string, string>, ...argv: string[]) =>
      end(launch(process.execPath, [file('cli/svc.ts'), ...argv], settings)),
    /** Runs a command in the process of the test, which saves a second where that makes no difference. */
    inProcess: (...argv: string[]) => runCommand(argv, { env: { DATA_DIR: env.DATA_DIR, PORT: env.PORT } }),
    start: () => waitUntilListening(launch(process.execPath, [file('server/start.js')])),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

async function end(child: ChildProcess): Promise<CommandResult> {
  const stdout = read(child, 'stdout')
  const stderr = read(child, 'stderr')
  const [exitCode] = await once(child, 'close')
  return { exitCode, stdout: stdout(), stderr: stderr() }
}

async function waitUntilListening(child: ChildProcess) {
  const stdout = read(child, 'stdout')
  const stderr = read(child, 'stderr')
  const address = () => /"url":"(http:[^"]+)"|Address +(http:\S+)/.exec(stdout())?.slice(1).find(Boolean)
  while (!address() && child.exitCode === null) await pause(50)
  const url = address()
  if (!url) throw new Error(`The service did not start: ${stderr()}`)
  return {
    process: child,
    url,
    who: async (bearer: string) =>
      (await fetch(`${url}/api/user`, { headers: { authorization: `Bearer ${bearer}` } })).status,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

function read(child: ChildProcess, stream: 'stdout' | 'stderr'): () => string {
  const chunks: string[] = []
  child[stream]?.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk))
  return () => chunks.join('')
}
