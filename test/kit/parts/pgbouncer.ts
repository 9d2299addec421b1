import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import { findFreePort } from '../free-port.ts'
import { openClient } from '../postgres-client.ts'
import { programPath } from './installed.ts'

/** Debian's PgBouncer in transaction mode before a database, with fewer connections than those who want one. */
export async function startPgbouncer(databaseUrl: string, connectQuery: string) {
  const url = new URL(databaseUrl)
  const folder = await mkdtemp(join(tmpdir(), 'svc-pgbouncer-'))
  const port = await findFreePort()
  const users = join(folder, 'users')
  await writeFile(users, `"${url.username}" "${decodeURIComponent(url.password)}"\n`)
  await writeFile(
    join(folder, 'pgbouncer.ini'),
    `[databases]
* = host=${url.hostname} port=${url.port} connect_query='${connectQuery}'
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = 3
`,
  )
  await chmod(folder, 0o755)
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : []
  const server = spawn(programPath('pgbouncer') ?? '', [...user, join(folder, 'pgbouncer.ini')], { stdio: 'ignore' })
  const ended = once(server, 'exit')
  url.port = `${port}`
  await vi.waitFor(async () => (await openClient(url.href)).end(), { timeout: 60_000 })
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      server.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
