import { execFile } from 'node:child_process'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { answers, question, startProvider } from '../kit/ai/provider.ts'
import { readCompose } from '../kit/compose/file.ts'
import { startStack } from '../kit/compose/stack.ts'
import { freePort } from '../kit/free-port.ts'
import { trust } from '../kit/net/trust.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { dataFolder, root } from '../kit/service-process.ts'

vi.setConfig({ testTimeout: 240_000 })

const run = promisify(execFile)
const PASSWORD = 'correct horse battery'
const compose = await readCompose()

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

/** A machine with Docker, as far as the printed commands see it. */
function createMachine(resources: AsyncDisposableStack, folder: string, upstream: string) {
  const machine = { url: '', said: '', logged: () => '', env: {} as Record<string, string> }

  async function up() {
    const stack = resources.use(await startStack({ folder, settings: { DRAIN_DELAY: '0' } }))
    resources.use(await trust(stack.caFile))
    machine.env = stack.env
    machine.logged = () => stack.parts.map(({ said }) => said.out).join('')
  }

  async function exec(command: string) {
    const line = command.replace('docker compose exec svc npx svc', `"${process.execPath}" "${root}cli/svc.ts"`)
    const env = { ...machine.env, PATH: `${dirname(process.execPath)}:${process.env['PATH']}` }
    machine.said += await piped(line, { cwd: join(folder, 'container'), env })
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

describeWith(
  'postgres',
  'redis',
  'caddy',
)('the section «Deploy»', () => {
  test('works as it is printed: people sign in, and their tokens ask the model', async () => {
    await using stack = new AsyncDisposableStack()
    const folder = stack.use(await dataFolder())
    const provider = stack.use(await startProvider(answers('Good day.')))
    const machine = createMachine(stack, folder.path, provider.url)
    machine.url = `https://localhost:${await freePort()}`
    await copyFile(join(root, '.env.example'), join(folder.path, '.env.example'))

    for (const command of await printedCommands()) await machine.run(command)
    const { url, said } = machine
    const login = await send(url, '/req/login', { account: 'ada', password: PASSWORD })
    const [token = ''] = /^svc_\S+$/m.exec(said) ?? []
    const answer = await send(url, '/api/ai-req', question('Hello', 'llama'), { authorization: `Bearer ${token}` })
    const ready = await fetch(`${url}/health/ready`)

    expect(machine.logged()).toContain('Next: npx svc add-user')
    expect(machine.logged()).not.toContain('"level":40')
    expect(await login.json()).toMatchObject({ success: true })
    expect(await answer.json()).toEqual({ success: true, content: { text: 'Good day.' } })
    expect(ready.status).toBe(200)
  })

  test('mounts every file that the settings name, and stops the containers later than the service needs', () => {
    for (const name of ['svc', 'svc-2'] as const) {
      const { environment, volumes = [], stop_grace_period: grace = '' } = compose.services[name]

      expect(volumes.map((volume) => volume.split(':')[1])).toEqual(
        expect.arrayContaining([environment['AI_CONFIG'], environment['DATA_DIR']]),
      )
      // DRAIN_DELAY and SHUTDOWN_TIMEOUT as they are by default, and some seconds to close the database.
      expect(Number.parseInt(grace, 10)).toBeGreaterThanOrEqual(40)
    }
  })

  test('asks the service how it is as its probe should', () => {
    const { healthcheck = {} } = compose.services.svc

    expect(healthcheck).toMatchObject({ interval: '30s', timeout: '10s', retries: 3, start_period: '30s' })
    expect(String(healthcheck['test'])).toContain('/health')
  })

  test.each(Object.entries(compose.services))(
    'gives the container %s no more than it needs: an ordinary user, nothing to write to, bounds of all kinds',
    (name, service) => {
      expect(service).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        user: expect.not.stringMatching(/^(0|root)/),
        mem_limit: expect.any(String),
        cpus: expect.anything(),
        pids_limit: expect.any(Number),
        ulimits: { nofile: expect.any(Number) },
      })
      expect(Boolean(service.ports)).toBe(name === 'caddy')
    },
  )

  test('keeps the stores in a network that leads nowhere else, and the proxy out of it', () => {
    const { svc, caddy, postgres, valkey } = compose.services

    expect(compose.networks['back']).toEqual({ internal: true })
    expect([svc.networks, caddy.networks]).toEqual([['front', 'back'], ['front']])
    expect([postgres.networks, valkey.networks]).toEqual([['back'], ['back']])
  })
})

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
