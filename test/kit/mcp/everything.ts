import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const main = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')

/** The server would listen on all addresses, on an unknown port. */
const onLoopback = `
  import { Server } from 'node:net'
  const { listen } = Server.prototype
  Server.prototype.listen = function (_port, ...rest) {
    this.once('listening', () => console.error('listening at', this.address().port))
    return listen.call(this, { port: 0, host: '127.0.0.1' }, ...rest)
  }`

/** Starts the protocol project's own test server. */
export async function startEverything(transport: 'http' | 'sse') {
  const preload = `data:text/javascript,${encodeURIComponent(onLoopback)}`
  const mode = transport === 'http' ? 'streamableHttp' : 'sse'
  const server = spawn(process.execPath, ['--import', preload, main, mode], { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(server, 'exit')
  const port = await readPort(server.stderr)
  return {
    url: `http://127.0.0.1:${port}/${transport === 'http' ? 'mcp' : 'sse'}`,
    async [Symbol.asyncDispose]() {
      server.kill('SIGKILL')
      await ended
    },
  }
}

async function readPort(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(output)) {
    const port = /^listening at (\d+)$/.exec(line)?.[1]
    // The rest of its output is read so that the pipe does not fill.
    if (!port) continue
    output.resume()
    return port
  }
  throw new Error('the server for tests did not start')
}
