import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { callsTool, configFor, question, startProvider } from '../kit/ai/provider.ts'
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

const resources = new AsyncDisposableStack()
let svc: TestApp
let token: string
let upstream: Awaited<ReturnType<typeof startProvider>>
let pids: string

beforeAll(async () => {
  upstream = resources.use(await startProvider(callsTool('everything_get-env', '{}')))
  const config = resources.use(await configFor(upstream.url))
  pids = `${config.file}.pids`
  const args = [everything, 'stdio']
  const programs = [
    { label: 'Everything', command, args, env: { SHOWN: 'to the program' } },
    { label: 'Silent', command, args: ['-e', silent], env: { PIDS: pids }, timeouts: { read: '1s' } },
    { label: 'Ending', command, args: ['-e', 'process.exit(3)'] },
    { label: 'Loud', command, args: ['-e', loud] },
    { label: 'Missing', command: '/nowhere/at-all' },
  ]
  const [provider] = config.config.providers
  const models = [{ ...provider?.models[0], tools: ['everything_get-env'] }]
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
  ])
  const again = await svc.host.mcp.check()
  expect(again.find(({ server }) => server === 'Ending')?.reason).toBe(
    'its program failed, and is not started again so soon',
  )

  const tool = (await svc.host.mcp.tools()).find(({ name }) => name === 'everything_get-env')
  await svc.host.mcp.approve({ name: 'everything_get-env', hash: tool?.hash ?? '' })
  expect((await svc.send('POST', '/api/ai-req', { token, body: question() })).status).toBe(200)
  const told = String(upstream.asked.at(-1)?.body.messages.at(-1)?.content)
  const seen = JSON.parse(JSON.parse(told)) as Record<string, string>
  expect(seen).toMatchObject({ SHOWN: 'to the program' })
  expect(Object.keys(seen).filter((name) => !['SHOWN', 'PATH'].includes(name))).toEqual([])
})

test('a program that does not answer is killed with all that it started', async () => {
  const started = JSON.parse(await readFile(pids, 'utf8')) as number[]
  await expect.poll(() => started.map(isGone), { timeout: 20_000 }).toEqual([true, true])
})

test('a row that names a program which the configuration file does not starts none', async () => {
  await svc.rows("update mcp_servers set url = url || ' --more' where server_label = 'Everything'")
  const [report] = await svc.host.mcp.check()
  expect(report).toMatchObject({ server: 'Everything', reason: 'its program is not in the configuration file' })
})
