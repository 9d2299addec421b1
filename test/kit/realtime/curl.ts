import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'

const guide = await readFile(new URL('../../../facades/realtime/README.md', import.meta.url), 'utf8')

/** The commands of the guide that follow changes: of a room, and of the own list. */
export const curlCommands = [...guide.matchAll(/^\$ (curl -N .*(?:\\\n.*)*)$/gm)].map(([, command]) => command ?? '')

interface CurlOptions {
  url: string
  token: string
  room?: string
}

/** Runs a command of the guide with an address, a token and a room in it. */
export function runCurl(command: string, { url, token, room = '1' }: CurlOptions) {
  const text = command
    .replace('http://127.0.0.1:3000', url)
    .replace('svc_1_…', token)
    .replace('"id":"1"', `"id":"${room}"`)
  const child = spawn('sh', ['-c', `exec ${text}`], { stdio: ['ignore', 'pipe', 'ignore'] })
  const output = { text: '' }
  child.stdout.on('data', (piece) => {
    output.text += piece
  })
  return {
    output: output,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'close')
      child.kill()
      await ended
    },
  }
}
