import { execFile } from 'node:child_process'
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseEnv, promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { answers, question, startProvider } from '../kit/ai/provider.ts'
import { freePort } from '../kit/free-port.ts'
import { startPostgres } from '../kit/parts/postgres.ts'
import { ownDatabase } from '../kit/parts/redis.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { dataFolder, root, startProcess } from '../kit/service-process.ts'

vi.setConfig({ testTimeout: 240_000 })

const run = promisify(execFile)
const PASSWORD = 'correct horse battery'

/** The lines of the section, one a command; a text that a line writes belongs to it. */
async function printedCommands(): Promise<string[]> {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const block = /^## Deploy\n.*?```sh\n(.*?)```/ms.exec(readme)?.[1] ?? ''
  return [...block.matchAll(/^(?:.*<<'END'.*\n(?:.*\n)*?END$|.+$)/gm)].map(([command]) => command)
}

/** Does what the comments of `.env.example` say: runs the command that makes a value, and types the address. */
async function fillIn(file: string, baseUrl: string): Promise<void> {
  let generator = ''
  const lines: string[] = []
  for (const line of (await readFile(file, 'utf8')).split('\n')) {
    if (line.startsWith('#')) generator = /openssl rand [\w -]+\d/.exec(line)?.[0] ?? ''
    if (line === 'BASE_URL=') lines.push(line + baseUrl)
    else if (/^\w+=$/.test(line)) lines.push(line + (await run('sh', ['-c', generator])).stdout.trim())
    else lines.push(line)
  }
  await writeFile(file, lines.join('\n'))
}

interface Compose {
  services: { svc: { environment: Record<string, string | number>; volumes: string[]; stop_grace_period: string } }
}

const compose = parse(await readFile(join(root, 'compose.yaml'), 'utf8')) as Compose

/** What the container of the service has in its environment, with this machine's places for the other containers and the volumes. */
function environmentOf(dotEnv: NodeJS.Dict<string>, places: Record<string, string>): Record<string, string> {
  const declared = Object.entries(compose.services.svc.environment).map(([name, value]) => {
    const filled = `${value}`.replace(/\$\{(\w+):\?[^}]*\}/g, (_, variable: string) => dotEnv[variable] ?? '')
    return [name, filled] as const
  })
  const all = { ...dotEnv, ...Object.fromEntries(declared) }
  const placed = Object.entries(all).map(([name, value = '']) => [
    name,
    Object.entries(places).reduce((text, [from, to]) => text.replace(from, to), value),
  ])
  return Object.fromEntries(placed)
}

/** A machine with Docker, as far as the printed commands see it. */
function createMachine(stack: AsyncDisposableStack, folder: string, upstream: string) {
  const machine = { url: '', said: '', env: {} as Record<string, string> }
  // The image has no `.env`.
  const container = join(folder, 'container')

  async function up() {
    const dotEnv = parseEnv(await readFile(join(folder, '.env'), 'utf8'))
    const postgres = stack.use(await startPostgres('svc', dotEnv['POSTGRES_PASSWORD'] ?? '', 'svc'))
    const places = {
      '@postgres:5432': `@${postgres.address}`,
      'redis://valkey:6379': ownDatabase(9),
      '/config/ai.yaml': join(folder, 'ai.yaml'),
      '/data': join(folder, 'data'),
      '0.0.0.0': '127.0.0.1',
    }
    machine.env = { ...environmentOf(dotEnv, places), PORT: new URL(machine.url).port }
    await mkdir(container)
    await mkdir(join(folder, 'data'))
    const service = stack.use(startProcess({ ...machine.env, DRAIN_DELAY: '0' }, await imageCommand(), container))
    await service.ready()
    machine.said += service.said.out
  }

  async function exec(command: string) {
    const line = command.replace('docker compose exec svc npx svc', `"${process.execPath}" "${root}cli/svc.ts"`)
    const env = { ...machine.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }
    machine.said += await piped(line, { cwd: container, env })
  }

  const shell = (command: string) => run('sh', ['-c', command], { cwd: folder })
  const doing: Record<string, (command: string) => Promise<unknown>> = {
    'docker compose up --build --detach': up,
    'docker compose exec svc npx svc ': exec,
    'cp ': async (command) => {
      await shell(command)
      await fillIn(join(folder, '.env'), machine.url)
    },
    'cat ': async (command) => {
      await shell(command)
      await nameOwnServer(join(folder, 'ai.yaml'), upstream)
    },
  }
  return Object.assign(machine, {
    async run(command: string) {
      const known = Object.entries(doing).find(([start]) => command.startsWith(start))
      if (!known) throw new Error(`This machine cannot run: ${command}`)
      await known[1](command)
    },
  })
}

describeWith('postgres', 'redis')('the section «Deploy»', () => {
  test('works as it is printed: people sign in, and their tokens ask the model', async () => {
    await using stack = new AsyncDisposableStack()
    const folder = stack.use(await dataFolder())
    const provider = stack.use(await startProvider(answers('Good day.')))
    const machine = createMachine(stack, folder.path, provider.url)
    machine.url = `http://127.0.0.1:${await freePort()}`
    await copyFile(join(root, '.env.example'), join(folder.path, '.env.example'))

    for (const command of await printedCommands()) await machine.run(command)
    const { url, said } = machine
    const login = await send(url, '/req/login', { account: 'ada', password: PASSWORD })
    const [token = ''] = /^svc_\S+$/m.exec(said) ?? []
    const answer = await send(url, '/api/ai-req', question('Hello', 'llama'), { authorization: `Bearer ${token}` })
    const ready = await fetch(`${url}/health/ready`)

    expect(said).toContain('Next: npx svc add-user')
    expect(said).not.toContain('"level":40')
    expect(await login.json()).toMatchObject({ success: true })
    expect(await answer.json()).toEqual({ success: true, content: { text: 'Good day.' } })
    expect(ready.status).toBe(200)
  })

  test('mounts every file that the settings name, and stops the container later than the service needs', () => {
    const { environment, volumes, stop_grace_period: grace } = compose.services.svc

    expect(volumes.map((volume) => volume.split(':')[1])).toEqual(
      expect.arrayContaining([environment['AI_CONFIG'], environment['DATA_DIR']]),
    )
    // DRAIN_DELAY and SHUTDOWN_TIMEOUT as they are by default, and some seconds to close the database.
    expect(Number.parseInt(grace, 10)).toBeGreaterThanOrEqual(40)
  })
})

/** How the image starts the service. */
async function imageCommand(): Promise<string[]> {
  const dockerfile = await readFile(join(root, 'server/Dockerfile'), 'utf8')
  const [, ...args] = JSON.parse(/^CMD (.*)$/m.exec(dockerfile)?.[1] ?? '[]') as string[]
  return [process.execPath, ...args.map((arg) => (arg === 'server/start.js' ? join(root, arg) : arg))]
}

/** Everything is typed at the terminal; here the password is piped in. */
async function piped(line: string, options: { cwd: string; env: Record<string, string> }): Promise<string> {
  const running = run('sh', ['-c', line], options)
  running.child.stdin?.end(`${PASSWORD}\n`)
  return (await running).stdout
}

async function nameOwnServer(file: string, url: string): Promise<void> {
  await writeFile(file, (await readFile(file, 'utf8')).replace(/apiUrl: .*/, `apiUrl: ${url}`))
}

const send = (url: string, path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
