import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callsTool, callsTools, configFor, question, startProvider } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'

const everything = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')
const command = process.execPath

/** Starts another program of its group, tells both ids on its first line, and answers nothing. */
const silent = `
  const { spawn } = require('node:child_process')
  const { writeFileSync } = require('node:fs')
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  writeFileSync(process.env.PIDS, JSON.stringify([process.pid, child.pid]))
  setInterval(() => {}, 1000)`

/** Never ends to speak, and says nothing. */
const loud = `setInterval(() => process.stdout.write('x'.repeat(1e6)), 1)`

/** Answers as a server should, but a call only once the file of this name is there. */
const slow = `
  const { existsSync } = require('node:fs')
  const { createInterface } = require('node:readline')
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'slow', version: '1' } },
    'tools/list': { tools: [{ name: 'wait', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'done' }] },
  }
  createInterface(process.stdin).on('line', (line) => {
    const { id, method } = JSON.parse(line)
    const answer = results[method] ? { result: results[method] } : { error: { code: -32601, message: 'unknown' } }
    const reply = () => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    if (method !== 'tools/call') return id !== undefined && reply()
    require('node:fs').appendFileSync(process.env.GO + '.calls', 'x')
    setInterval(() => existsSync(process.env.GO) && reply(), 50)
  })`

const resources = new AsyncDisposableStack()
let svc: TestApp
let token: string
let upstream: Awaited<ReturnType<typeof startProvider>>
let pids: string
let go: string

beforeAll(async () => {
  upstream = resources.use(await startProvider(callsTool('everything_get-env', '{}')))
  const config = resources.use(await configFor(upstream.url))
  pids = `${config.file}.pids`
  go = `${config.file}.go`
  const args = [everything, 'stdio']
  const programs = [
    { label: 'Everything', command, args, env: { SHOWN: 'to the program' } },
    { label: 'Silent', command, args: ['-e', silent], env: { PIDS: pids }, timeouts: { read: '2s' } },
    { label: 'Ending', command, args: ['-e', 'process.exit(3)'] },
    { label: 'Loud', command, args: ['-e', loud] },
    { label: 'Missing', command: '/nowhere/at-all' },
    { label: 'Slow', command, args: ['-e', slow], env: { GO: go } },
  ]
  const [provider] = config.config.providers
  const models = [{ ...provider?.models[0], tools: ['everything_get-env', 'slow_wait'] }]
  await config.write({
    ...config.config,
    providers: [{ ...provider, models }],
    mcpServers: programs.map((program) => ({ ...program, transport: 'stdio' })),
  })
  svc = resources.use(await startApp({ AI_CONFIG: config.file }))
  token = (await svc.user()).token
})
afterAll(() => resources.disposeAsync())

const isGone = (pid: number) => {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

test('a model calls a tool of a program, which sees the variables of the file and none of the service', async () => {
  const reports = await svc.host.mcp.sync()
  const [report] = reports
  expect(report).toMatchObject({ server: 'Everything', status: 'online', reason: null })
  expect(reports.slice(1).map(({ server, status, reason }) => ({ server, status, reason }))).toEqual([
    { server: 'Silent', status: 'offline', reason: 'it did not answer in time' },
    { server: 'Ending', status: 'offline', reason: 'its program ended with 3' },
    { server: 'Loud', status: 'offline', reason: 'its answer is too large' },
    { server: 'Missing', status: 'offline', reason: 'its program cannot be started' },
    { server: 'Slow', status: 'online', reason: null },
  ])
  const again = await svc.host.mcp.check()
  for (const failed of ['Silent', 'Ending'])
    expect(again.find(({ server }) => server === failed)?.reason).toBe(
      'its program failed, and is not started again so soon',
    )

  const tool = (await svc.host.mcp.tools()).find(({ name }) => name === 'everything_get-env')
  await svc.host.mcp.approve({ name: 'everything_get-env', hash: tool?.hash ?? '' })
  expect((await svc.send('POST', '/api/ai-req', { token, body: question() })).status).toBe(200)
  const told = String(upstream.asked.at(-1)?.body.messages.at(-1)?.content)
  const seen = JSON.parse(told) as Record<string, string>
  expect(seen).toMatchObject({ SHOWN: 'to the program' })
  expect(Object.keys(seen).filter((name) => !['SHOWN', 'PATH'].includes(name))).toEqual([])
})

test('a program that does not answer is killed with all that it started', async () => {
  const started = JSON.parse(await readFile(pids, 'utf8')) as number[]
  await expect.poll(() => started.map(isGone), { timeout: 20_000 }).toEqual([true, true])
})

test('the programs that run for one person leave room for others, and whoever waits for a slow one finds it well', async () => {
  await svc.host.mcp.sync()
  const tool = (await svc.host.mcp.tools()).find(({ name }) => name === 'slow_wait')
  await svc.host.mcp.approve({ name: 'slow_wait', hash: tool?.hash ?? '' })
  upstream.behave = callsTools(Array(4).fill({ name: 'slow_wait', input: '{}' }))
  const ask = (by: string) => svc.send('POST', '/api/ai-req', { token: by, body: question() })
  const told = () => upstream.asked.at(-1)?.body.messages.flatMap((m) => (m.role === 'tool' ? m.content : []))
  const calls = async () => (await readFile(`${go}.calls`, 'utf8').catch(() => '')).length

  const first = ask(token)
  await expect.poll(calls, { timeout: 30_000 }).toBe(4)
  expect((await ask(token)).status).toBe(200)
  expect(told()).toEqual(Array(4).fill(expect.stringContaining('already for the same person')))
  const other = ask((await svc.user()).token)
  await expect.poll(calls, { timeout: 30_000 }).toBe(8)
  await writeFile(go, '')
  expect([(await first).status, (await other).status]).toEqual([200, 200])
  expect(told()).toEqual(Array(4).fill('done'))
})

test('a row that names a program which the configuration file does not starts none', async () => {
  await svc.changeCatalogue("update mcp_servers set url = url || ' --more' where server_label = 'Everything'")
  const [report] = await svc.host.mcp.check()
  expect(report).toMatchObject({ server: 'Everything', reason: 'its program is not in the configuration file' })
})
