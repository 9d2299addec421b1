import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { findFreePort } from '../free-port.ts'

/** A database of the shared Redis for one test file alone, by a number of its own. */
export const redisDatabaseUrl = (number: number) => `${inject('redisUrl')}/${number}`

/** Empties a database of Redis. */
export async function flushRedis(url: string): Promise<void> {
  const redis = new Redis(url)
  await redis.flushdb().finally(() => redis.disconnect())
}

/**
 * Records every command that Redis is given, as Redis writes it: its time, its database and the quoted words. The monitor of
 * ioredis takes a command that comes together with the first answer for the answer of another command.
 */
export async function watchRedis(url: string) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const lines = createInterface(socket)
  socket.write('MONITOR\r\n')
  await once(lines, 'line')
  const commands: string[] = []
  lines.on('line', (line) => commands.push(line))
  return { commands, [Symbol.dispose]: () => void socket.destroy() }
}

/** Starts a Redis that a test may stop and start again at the same address, each time empty. */
export async function startOwnRedis() {
  const port = await findFreePort()
  let server: ChildProcess | undefined
  const start = async () => {
    server = spawn('redis-server', ['--port', `${port}`, '--bind', '127.0.0.1', '--save', ''], { stdio: 'ignore' })
    await once(server, 'spawn')
  }
  const stop = async () => {
    const ended = server && once(server, 'close')
    server?.kill('SIGKILL')
    await ended
    server = undefined
  }
  await start()
  return { url: `redis://127.0.0.1:${port}`, start, stop, [Symbol.asyncDispose]: stop }
}
