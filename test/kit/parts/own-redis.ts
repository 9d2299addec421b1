import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '../free-port.ts'

/** A Redis that a test may stop and start again, at the same address. It forgets everything each time. */
export async function startOwnRedis() {
  const port = await freePort()
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
