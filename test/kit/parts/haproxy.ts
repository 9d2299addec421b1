import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { findFreePort } from '../free-port.ts'

const HAPROXY = '/usr/sbin/haproxy'

/** Starts a load balancer with readiness checks and without retries. */
export async function startHaproxy(ports: readonly number[]) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-haproxy-'))
  const port = await findFreePort()
  const socket = join(folder, 'admin.sock')
  await writeFile(join(folder, 'haproxy.cfg'), buildConfig(port, socket, ports))
  const balancer = spawn(HAPROXY, ['-db', '-f', join(folder, 'haproxy.cfg')], { stdio: 'ignore' })
  const ended = once(balancer, 'close')
  return {
    url: `http://127.0.0.1:${port}`,
    /** Returns the number of replicas that get requests. */
    async up(): Promise<number> {
      const states = await runAdminCommand(socket, 'show stat')
      return states.split('\n').filter((line) => /^replicas,replica\d+,.*,UP,/.test(line)).length
    },
    async [Symbol.asyncDispose]() {
      balancer.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const buildConfig = (port: number, socket: string, replicas: readonly number[]) => `
global
  stats socket ${socket} mode 600 level user
defaults
  mode http
  retries 0
  timeout connect 5s
  timeout check 2s
  timeout client 60s
  timeout server 60s
frontend svc
  bind 127.0.0.1:${port}
  default_backend replicas
backend replicas
  balance roundrobin
  http-reuse always
  option httpchk GET /health/ready
  http-check expect status 200
  default-server check inter 200ms fall 2 rise 2
${replicas.map((replica, index) => `  server replica${index} 127.0.0.1:${replica}`).join('\n')}
`

async function runAdminCommand(socket: string, command: string): Promise<string> {
  const connection = createConnection(socket)
  connection.end(`${command}\n`)
  return text(connection).catch(() => '')
}
