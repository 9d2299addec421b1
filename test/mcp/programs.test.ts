import { readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildQuestion, callsTool, callsTools, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'

const everything = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')
const command = process.execPath

/** A program that starts a child, prints both process ids on its first line and answers nothing. */
const silent = `
  const { spawn } = require('node:child_process')
  const { writeFileSync } = require('node:fs')
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  writeFileSync(process.env.PIDS, JSON.stringify([process.pid, child.pid]))
  setInterval(() => {}, 1000)`

/** A program that writes endlessly without a message. */
const loud = `setInterval(() => process.stdout.write('x'.repeat(1e6)), 1)`

/** A correct server that answers calls only once a file of this name exists, and only so many. */
const slow = `
  const { appendFileSync, existsSync } = require('node:fs')
  const { CALLS, GO, TIMES } = process.env
  const results = {
    initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'slow', version: '1' } },
    'tools/list': { tools: [{ name: 'wait', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'done' }] },
  }
  require('node:readline').createInterface(process.stdin).on('line', (line) => {
    const { id, method } = JSON.parse(line)
    if (id === undefined) return
    const reply = JSON.stringify({ jsonrpc: '2.0', id, result: results[method] }) + '\\n'
    if (method !== 'tools/call') return process.stdout.write(reply)
    appendFileSync(CALLS, 'x')
    const waiting = setInterval(() => {
      if (!existsSync(GO)) return
      clearInterval(waiting)
      process.stdout.write(reply.repeat(TIMES))
    }, 50)
  })`

const resources = new AsyncDisposableStack()
let svc: TestApp
let token: string
let upstream: Awaited<ReturnType<typeof startProvider>>
let pids: string
let go: string
let calls: string
let reports: Awaited<ReturnType<TestApp['host']['mcp']['sync']>>

beforeAll(async () => {
  upstream = resources.use(await startProvider(callsTool('everything_get-env', '{}')))
  const config = resources.use(await writeConfig(upstream.url))
  pids = `${config.file}.pids`
  go = `${config.file}.go`
  calls = `${config.file}.calls`
  const args = [everything, 'stdio']
  const programs = [
    { label: 'Everything', command, args, env: { SHOWN: 'to the program' } },
    { label: 'Silent', command, args: ['-e', silent], env: { PIDS: pids }, timeouts: { read: '10s' } },
    { label: 'Ending', command, args: ['-e', 'process.exit(3)'] },
    { label: 'Loud', command, args: ['-e', loud] },
    { label: 'Missing', command: '/nowhere/at-all' },
    { label: 'Slow', command, args: ['-e', slow], env: { GO: go, CALLS: calls, TIMES: '1' }, pricePerCall: '0.01 EUR' },
    {
      label: 'Twice',
      command,
      args: ['--title=twice', '-e', slow],
      env: { GO: command, CALLS: `${calls}.twice`, TIMES: '2' },
    },
  ]
  const tools = ['everything_get-env', 'slow_wait', 'twice_wait']
  const [provider] = config.config.providers
  const models = [{ ...provider?.models[0], tools }]
  await config.write({
    ...config.config,
    providers: [{ ...provider, models }],
    mcpServers: programs.map((program) => ({ ...program, transport: 'stdio' })),
  })
  svc = resources.use(await startApp({ AI_CONFIG: config.file }))
  token = (await svc.user()).token
  reports = await svc.host.mcp.sync()
  for (const { name, hash } of await svc.host.mcp.tools())
    if (tools.includes(name)) await svc.host.mcp.approve({ name, hash })
})
afterAll(() => resources.disposeAsync())

const sendQuestion = (by = token) => svc.send('POST', '/api/ai-req', { token: by, body: buildQuestion() })
/** The tool results that the model got. */
const toolResults = () => upstream.requests.at(-1)?.body.messages.flatMap((m) => (m.role === 'tool' ? m.content : []))

const readSlowUses = () =>
  svc.rows(`select outcome, cost_micros::int as cost, count(*)::int as calls from tool_uses where tool = 'slow_wait'
             group by outcome, cost_micros order by outcome`)

const isGone = (pid: number) => {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

test('an unusable program is reported with its reason, and retried after a pause', async () => {
  expect(reports[0]).toMatchObject({ server: 'Everything', status: 'online', reason: null })
  expect(reports.slice(1).map(({ server, status, reason }) => ({ server, status, reason }))).toEqual([
    { server: 'Silent', status: 'offline', reason: 'it did not answer in time' },
    { server: 'Ending', status: 'offline', reason: 'its program ended with 3' },
    { server: 'Loud', status: 'offline', reason: 'its answer is too large' },
    { server: 'Missing', status: 'offline', reason: 'its program cannot be started' },
    { server: 'Slow', status: 'online', reason: null },
    { server: 'Twice', status: 'online', reason: null },
  ])
  // On a slow machine the pause is over, and the next one is twice as long.
  const left = 'its program failed, and is not started again so soon'
  const again = async () => {
    const states = await svc.host.mcp.check()
    return states.flatMap(({ server, reason }) => (/Silent|Ending/.test(server) ? reason : []))
  }
  await expect.poll(again).toEqual([left, left])
})

test('a program sees the variables of its file and none of the service', async () => {
  upstream.behave = callsTool('everything_get-env', '{}')

  expect((await sendQuestion()).status).toBe(200)

  const seen = JSON.parse(String(toolResults())) as Record<string, string>
  expect(seen).toMatchObject({ SHOWN: 'to the program' })
  expect(Object.keys(seen).filter((name) => !['SHOWN', 'PATH'].includes(name))).toEqual([])
})

test('a call is answered by a program that answers it twice', async () => {
  upstream.behave = callsTool('twice_wait', '{}')

  expect((await sendQuestion()).status).toBe(200)

  expect(toolResults()).toEqual(['done'])
})

test('a program that does not answer is killed with all that it started', async () => {
  const started = JSON.parse(await readFile(pids, 'utf8')) as number[]
  await expect.poll(() => started.map(isGone)).toEqual([true, true])
})

test("one person's programs leave room for others, and refused calls cost nothing", async () => {
  await svc.host.limits.set({ name: 'slow', unit: 'calls', for: 'tool:slow_wait', per: 'month', cap: 8 })
  upstream.behave = callsTools(Array(4).fill({ name: 'slow_wait', input: '{}' }))
  const called = async () => (await readFile(calls, 'utf8').catch(() => '')).length

  const first = sendQuestion()
  await expect.poll(called).toBe(4)
  expect((await sendQuestion()).status).toBe(200)
  expect(toolResults()).toEqual(Array(4).fill(expect.stringContaining('already for the same person')))
  const other = sendQuestion((await svc.user()).token)
  await expect.poll(called).toBe(8)
  await writeFile(go, '')
  expect([(await first).status, (await other).status]).toEqual([200, 200])
  expect(toolResults()).toEqual(Array(4).fill('done'))
  await expect.poll(readSlowUses).toEqual([
    { outcome: 'completed', cost: 10_000, calls: 8 },
    { outcome: 'unmade', cost: null, calls: 4 },
  ])
  expect(await svc.host.limits.show({ name: 'slow' })).toMatchObject([{ used: 8, refused: 0 }])
})

test('a row that names a program which the configuration file does not starts none', async () => {
  await svc.changeCatalogue("update mcp_servers set url = url || ' --more' where server_label = 'Missing'")

  const states = await svc.host.mcp.check()

  expect(states.find(({ server }) => server === 'Missing')?.reason).toBe('its program is not in the configuration file')
})
