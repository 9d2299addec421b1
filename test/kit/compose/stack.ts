import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { Redis } from 'ioredis'
import { findFreePort } from '../free-port.ts'
import { programPath } from '../parts/installed.ts'
import { startPostgres } from '../parts/postgres.ts'
import {
  type ComposeService,
  readCompose,
  readEnvironment,
  readImageArguments,
  substituteVariables,
} from './compose-file.ts'
import type { Image } from './image.ts'

interface PartOptions {
  env?: Record<string, string>
  cwd: string
  /** Returns true once it serves; polled until then. */
  isReady: () => Promise<boolean>
}

const START_MS = 120_000

/** Starts a process in place of a container. Resolves once it serves; throws with its output if it exits earlier. */
async function startPart([program = '', ...args]: string[], { env = {}, cwd, isReady }: PartOptions) {
  const path = `${dirname(process.execPath)}:${process.env['PATH']}`
  const child = spawn(program, args, { cwd, env: { PATH: path, HOME: cwd, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const log = { out: '' }
  for (const output of [child.stdout, child.stderr])
    output.on('data', (text) => {
      log.out += text
    })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const end = async (signal: NodeJS.Signals) => {
    if (!hasEnded()) child.kill(signal)
    return ended
  }
  const start = Date.now()
  while (!(await isReady().catch(() => false))) {
    if (!hasEnded() && Date.now() - start < START_MS) await pause(50)
    else {
      await end('SIGKILL')
      throw new Error(`${program} did not start.\n${log.out}`)
    }
  }
  return {
    output: log,
    /** Stops it like Docker; resolves with its exit code. */
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    [Symbol.asyncDispose]: async () => void (await end('SIGKILL')),
  }
}

type Part = Awaited<ReturnType<typeof startPart>>

const repository = fileURLToPath(new URL('../../..', import.meta.url))

interface StackOptions {
  /** The folder of `.env`, `ai.yaml` and the volumes. */
  folder: string
  image: Image
  /** Settings of each replica, beside `.env`. */
  settings?: Record<string, string>
}

/** Starts the containers of `compose.yaml` as processes on ports of their own, without Docker's isolation. */
export async function startStack({ folder, image, settings = {} }: StackOptions) {
  const compose = await readCompose()
  // The network of the proxy is one address on this machine.
  const envFile = parseEnv(await readFile(join(folder, '.env'), 'utf8'))
  const dotEnv: NodeJS.Dict<string> = { ...envFile, FRONT_NETWORK: '127.0.0.1/32' }
  await using startup = new AsyncDisposableStack()
  const postgres = startup.use(await startDatabase(compose.services.postgres, dotEnv))
  const valkey = startup.use(await startValkey(compose.services.valkey, dotEnv, folder))
  const places = {
    '@postgres:5432': `@${postgres.address}`,
    '@valkey:6379': `@127.0.0.1:${valkey.port}`,
    '/config/ai.yaml': join(folder, 'ai.yaml'),
    '/data': join(folder, 'data'),
    '0.0.0.0': '127.0.0.1',
  }
  for (const name of [places['/data'], join(folder, 'caddy')]) await mkdir(name, { recursive: true })
  await image.give(places['/data'])
  const replicas = await Promise.all(
    ([compose.services.svc, compose.services['svc-2']] as const).map(async (service) => {
      const port = await findFreePort()
      const env = { ...replacePlaces(readEnvironment(service, dotEnv), places), ...settings, PORT: `${port}` }
      return { port, env, start: () => startReplica(env, image) }
    }),
  )
  const parts = await Promise.all(replicas.map(async ({ start }) => startup.use(await start())))
  const upstreams = Object.fromEntries(replicas.map(({ port }, at) => [hosts[at] ?? '', `127.0.0.1:${port}`]))
  const caddy = startup.use(
    await startCaddy(replacePlaces(readEnvironment(compose.services.caddy, dotEnv), upstreams), folder),
  )
  const disposables = startup.move()
  return {
    url: dotEnv['BASE_URL'] ?? '',
    /** The plain HTTP address, which browsers try first without a scheme. */
    httpUrl: caddy.httpUrl,
    /** The authority of the proxy's certificate, as a PEM file. */
    caFile: caddy.caFile,
    /** The environment of a container's commands. */
    env: (replicas[0]?.env ?? {}) as Record<string, string>,
    parts,
    /** Stops a replica as Docker does, and starts it again; resolves with the exit code once it serves. */
    async restart(at: 0 | 1) {
      const code = await parts[at]?.stop()
      const part = disposables.use((await replicas[at]?.start()) as Part)
      parts[at] = part
      return code
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

const hosts = ['svc:3000', 'svc-2:3000']

/** Replaces the containers' addresses and paths by those of this machine. */
function replacePlaces(values: Record<string, string>, places: Record<string, string>): Record<string, string> {
  const inPlace = (text: string) => Object.entries(places).reduce((now, [from, to]) => now.replace(from, to), text)
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, inPlace(value)]))
}

function startDatabase(service: ComposeService, dotEnv: NodeJS.Dict<string>) {
  const { POSTGRES_USER = '', POSTGRES_PASSWORD = '', POSTGRES_DB = '' } = readEnvironment(service, dotEnv)
  return startPostgres(POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB)
}

async function startValkey({ command = [] }: ComposeService, dotEnv: NodeJS.Dict<string>, folder: string) {
  const port = await findFreePort()
  const [, ...args] = command.map((word) => substituteVariables(word, dotEnv))
  const line = [programPath('valkey-server') ?? 'redis-server', ...args, '--port', `${port}`, '--bind', '127.0.0.1']
  const isReady = async () => {
    const redis = new Redis({ port, password: dotEnv['VALKEY_PASSWORD'] ?? '', lazyConnect: true, retryStrategy: null })
    redis.on('error', () => {})
    return redis
      .connect()
      .then(() => true)
      .finally(() => redis.disconnect())
  }
  return Object.assign(await startPart([...line, '--dir', folder], { cwd: folder, isReady }), { port })
}

async function startReplica(values: Record<string, string>, { folder, path, as }: Image): Promise<Part> {
  const env = { ...values, PATH: path }
  const line = [...as, process.execPath, ...(await readImageArguments())]
  const isReady = async () => (await fetch(`http://127.0.0.1:${values['PORT']}/health/ready`)).ok
  return startPart(line, { env, cwd: folder, isReady })
}

/** Caddy of this machine with the file that the container mounts. */
async function startCaddy(values: Record<string, string>, folder: string) {
  const httpPort = await findFreePort()
  const env = { ...values, HTTP_PORT: `${httpPort}`, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const line = ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(repository, 'server/Caddyfile')]
  const { hostname, port } = new URL(values['BASE_URL'] ?? '')
  const isReady = () => isListening(hostname, Number(port))
  const part = await startPart(line, { env, cwd: folder, isReady })
  const caFile = join(folder, 'caddy/pki/authorities/local/root.crt')
  return Object.assign(part, { httpUrl: `http://${hostname}:${httpPort}`, caFile })
}

function isListening(host: string, port: number): Promise<boolean> {
  const socket = connect(port, host)
  return new Promise<boolean>((done) => {
    socket.once('connect', () => done(true)).once('error', () => done(false))
  }).finally(() => socket.destroy())
}
