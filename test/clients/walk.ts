import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, symlink } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { run } from '../kit/ai/agents.ts'
import { startProvider } from '../kit/ai/provider.ts'
import { createTaskModel, DONE } from '../kit/ai/task-model.ts'
import { buildFirstKeys, openBrowser } from '../kit/browser.ts'
import { findFreePort } from '../kit/free-port.ts'
import { startBrowserCommand } from '../kit/oauth/consenting-browser.ts'
import { root } from '../kit/service-process.ts'

const GUIDE = join(root, 'facades/mcp/README.md')
const parts = ['package.json', 'node_modules', 'entities', 'routers', 'facades', 'server', 'cli']
/** The model's call of the tool, whose result the model must get. */
const steps = [{ tool: 'mcp__svc__everything_get-sum', input: { a: 2, b: 3 } }]
const RESULT = 'The sum of 2 and 3 is 5'

/** Reads the shell blocks of the first walk: the one that ends with the start, and the lines of the second terminal. */
async function readBlocks(): Promise<{ prepare: string; start: string; lines: string[] }> {
  const guide = await readFile(GUIDE, 'utf8')
  const [section = ''] = /^## A first walk$.*?(?=^## )/ms.exec(guide) ?? []
  const [first = '', second = ''] = [...section.matchAll(/^```sh\n(.*?)^```/gms)].map(([, text = '']) => text.trim())
  const at = first.lastIndexOf('\n')
  return { prepare: first.slice(0, at), start: first.slice(at + 1), lines: second.split('\n') }
}

/**
 * Types the first walk of the gateway's guide in a fresh checkout, as a newcomer does, and returns what went wrong. Only the
 * port is another one, and Claude Code asks a scripted model.
 */
export async function walkGuide(folder: string, programs: string): Promise<string | undefined> {
  await using resources = new AsyncDisposableStack()
  const { prepare, start, lines } = await readBlocks()
  const checkout = await mkdtemp(join(folder, 'walk-'))
  for (const name of parts) await symlink(join(root, name), join(checkout, name))
  const home = join(checkout, 'home')
  await mkdir(home)
  const { behave } = createTaskModel(steps, undefined, 'get-sum')
  const provider = resources.use(await startProvider(behave))
  const port = await findFreePort()
  const url = `http://127.0.0.1:${port}`
  const env = {
    PATH: [programs, process.env['PATH']].join(delimiter),
    HOME: home,
    PORT: `${port}`,
    ANTHROPIC_BASE_URL: new URL(provider.url).origin,
    ANTHROPIC_AUTH_TOKEN: 'scripted',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    ENABLE_TOOL_SEARCH: 'false',
    MCP_CONNECTION_NONBLOCKING: 'false',
  }
  const type = async (line: string, more: Record<string, string> = {}) => {
    const command = line.replaceAll('http://127.0.0.1:3000', url)
    const [program, args] = line.includes(' login ')
      ? ['script', ['--quiet', '--return', '--command', command, '/dev/null']]
      : ['sh', ['-c', command]]
    const { code, output } = await run(program, args, { cwd: checkout, env: { ...env, ...more } })
    if (code !== 0) throw new Error(`${command} ended with ${code}: ${output.slice(-500)}`)
    return output
  }
  try {
    await type(prepare)
    const service = resources.use(startInBackground(start, checkout, env))
    const window = openBrowser(url)
    await window.login('demo', await service.password)
    const { status } = await window.send('POST', '/handshake', { body: buildFirstKeys() })
    if (status !== 200) throw new Error(`the handshake was answered with ${status}`)
    const browser = resources.use(await startBrowserCommand(window))
    const outputs: string[] = []
    for (const line of lines) outputs.push(await type(line, { BROWSER: browser.command }))
    const isAnswered = provider.requests.some(({ sent }) => sent.includes(RESULT))
    return isAnswered && outputs.at(-1)?.includes(DONE) ? undefined : `no result: ${outputs.at(-1)?.slice(-500)}`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** Starts the service as printed; it tells the password of its first user. */
function startInBackground(line: string, cwd: string, env: NodeJS.ProcessEnv) {
  const child = spawn('sh', ['-c', `exec setsid ${line.replace(/^(\S+=\S+) /, 'env $1 ')}`], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  let printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      printed = stripVTControlCharacters(printed + text)
      const [, password] = /^ +Password +(\S+)\s/m.exec(printed) ?? []
      if (password && printed.includes('Next:')) resolve(password)
    })
  const ended = once(child, 'exit')
  ended.then(() => reject(new Error(`${line} ended: ${printed.slice(-500)}`)))
  return {
    password: promise,
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.pid) process.kill(-child.pid, 'SIGTERM')
      await ended
    },
  }
}
