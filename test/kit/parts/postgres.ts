import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { findFreePort } from '../free-port.ts'
import { type Client, openClient } from '../postgres-client.ts'
import { programPath } from './installed.ts'

const run = promisify(execFile)

/** The PostgreSQL of this machine's Debian with one database, as the image of `compose.yaml` makes it. */
export async function startPostgres(user: string, password: string, database: string) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-debian-postgres-'))
  const data = join(folder, 'data')
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, password)
  const owner = findOwner()
  if (owner) for (const path of [folder, passwordFile]) await chown(path, owner.uid, owner.gid)
  const flags = ['-D', data, '-U', user, '-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C', '--pwfile', passwordFile]
  await run(findProgram('initdb'), flags, { ...owner, cwd: folder })
  const port = await findFreePort()
  const options = ['-D', data, '-p', `${port}`, '-h', '127.0.0.1', '-k', '', '-F', '-N', '200']
  const server = spawn(findProgram('postgres'), options, { ...owner, cwd: folder, stdio: 'ignore' })
  const ended = once(server, 'exit')
  await using admin = await connectWithRetry(`postgresql://${user}:${password}@127.0.0.1:${port}/postgres`)
  await admin.query(`create database ${database}`)
  return {
    /** Host and port. */
    address: `127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.kill('SIGINT')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const findProgram = (name: string) => programPath(name) ?? name

/** PostgreSQL refuses to run as root. */
function findOwner(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  const idOf = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: idOf('-u'), gid: idOf('-g') }
}

async function connectWithRetry(url: string): Promise<Client> {
  for (let tries = 0; ; tries++) {
    try {
      return await openClient(url)
    } catch (error) {
      if (tries === 600) throw error
      await pause(50)
    }
  }
}
