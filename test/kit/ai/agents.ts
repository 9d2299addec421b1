import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Step, type Steps, TASK } from './task-model.ts'

/** Versions that are known to work; as dev dependencies they would take 800 MB of every installation. */
const packages = [
  '@anthropic-ai/claude-code@2.1.332',
  '@openai/codex@0.169.0',
  'langchain@1.5.14',
  '@langchain/core@1.4.0',
  '@langchain/openai@1.6.0',
  'zod@4.6.7',
]

/** The package's own script, which copies the program of this platform. */
export const CLAUDE_SETUP = '@anthropic-ai/claude-code/install.cjs'

/** Installs packages, and runs those of their scripts that they need. */
export async function installPackages(folder: string, names: readonly string[], scripts: readonly string[]) {
  const npm = ['install', '--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--prefix', folder, ...names]
  const options = { cwd: folder, env: process.env }
  const results = [await run('npm', npm, options)]
  for (const script of scripts) {
    const path = join(folder, 'node_modules', script)
    results.push(await run(process.execPath, [path], { ...options, cwd: dirname(path) }))
  }
  const failed = results.find(({ code }) => code !== 0)
  if (failed) throw new Error(`The installation failed: ${failed.output.slice(-500)}`)
}

/** Installs the agents for one test. */
export async function installAgents() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-agents-'))
  await installPackages(folder, packages, [CLAUDE_SETUP])
  const langChain = join(folder, 'langchain.mjs')
  await writeFile(langChain, langChainProgram)
  return {
    langChain,
    program: (name: 'claude' | 'codex') => join(folder, 'node_modules/.bin', name),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

interface RunOptions {
  cwd: string
  env: NodeJS.ProcessEnv
}

export interface RunResult {
  code: number | null
  output: string
}

/** Time after which a program is killed, in milliseconds. */
const TIME_LIMIT_MS = 240_000

/** Runs a program in a process group of its own, nothing of which outlives it. */
export async function run(program: string, args: readonly string[], { cwd, env }: RunOptions): Promise<RunResult> {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const timer = setTimeout(() => killGroup(child), TIME_LIMIT_MS)
  child.once('exit', () => killGroup(child))
  try {
    const code = await new Promise<number | null>((done, failed) => child.once('close', done).once('error', failed))
    return { code, output }
  } finally {
    clearTimeout(timer)
  }
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid) process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has ended.
  }
}

export interface AgentOptions {
  program: string
  /** URL of the service. */
  url: string
  token: string
  model: string
  /** Variables beside the usual ones, for Claude Code. */
  env?: Record<string, string>
  /** Tools that Claude Code may use without a question. */
  allowedTools?: string
}

/** Creates a folder with a greeting, in which an agent works, and an empty home. */
export async function openWorkshop() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-workshop-'))
  const [home, work] = [join(folder, 'home'), join(folder, 'work')]
  await mkdir(home)
  await mkdir(work)
  const file = join(work, 'greeting.txt')
  await writeFile(file, 'Hello\n')
  return {
    home,
    work,
    file,
    greeting: () => readFile(file, 'utf8'),
    readReport: () => readFile(join(work, 'told.txt'), 'utf8'),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
export type Workshop = Awaited<ReturnType<typeof openWorkshop>>

/** Allows loopback alone: other requests go to a proxy that does not exist. */
const proxySettings = {
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: '127.0.0.1,localhost',
  http_proxy: 'http://127.0.0.1:9',
  https_proxy: 'http://127.0.0.1:9',
  no_proxy: '127.0.0.1,localhost',
}

export const buildEnvironment = ({ home }: Workshop) => ({ PATH: process.env['PATH'], HOME: home, ...proxySettings })

export const prompt = `${TASK}: read greeting.txt, change it, and copy it.`

/** One of the agents that people use, unmodified. */
export interface Agent {
  program: 'claude' | 'codex'
  steps(file: string): Steps
  /** Runs the task; `compact` shortens the conversation in a later turn. */
  work(options: AgentOptions, at: Workshop): Promise<RunResult>
  compact(options: AgentOptions, at: Workshop): Promise<RunResult>
}

export const COPY_COMMAND = 'cp greeting.txt told.txt'

async function runClaude(
  { program, url, token, model, env: more, allowedTools = 'Read,Edit,Bash,WebSearch' }: AgentOptions,
  at: Workshop,
  args: readonly string[],
): Promise<RunResult> {
  const env = {
    ...buildEnvironment(at),
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: token,
    ANTHROPIC_MODEL: model,
    ANTHROPIC_SMALL_FAST_MODEL: model,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    DISABLE_TELEMETRY: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_ERROR_REPORTING: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    ...more,
  }
  const may = ['--permission-mode', 'acceptEdits', '--allowedTools', allowedTools]
  return run(program, ['--print', ...args, ...may], { cwd: at.work, env })
}

export const claudeCode = {
  program: 'claude',
  steps: (file) => [
    { tool: 'Read', input: { file_path: file } },
    { tool: 'Edit', input: { file_path: file, old_string: 'Hello', new_string: 'Good day' } },
    { tool: 'Bash', input: { command: COPY_COMMAND, description: 'Copy the greeting' } },
  ],
  work: (options, at) => runClaude(options, at, [prompt]),
  compact: (options, at) => runClaude(options, at, ['--continue', '/compact']),
} satisfies Agent

async function runCodex(
  options: AgentOptions,
  at: Workshop,
  args: readonly string[],
  more: readonly string[] = [],
): Promise<RunResult> {
  const { program, url, token, model } = options
  const config = [
    `model="${model}"`,
    'model_provider="svc"',
    'approval_policy="never"',
    'sandbox_mode="danger-full-access"',
    `model_providers.svc.name="svc"`,
    `model_providers.svc.base_url="${url}/v1"`,
    'model_providers.svc.env_key="SVC_TOKEN"',
    'model_providers.svc.wire_api="responses"',
    'check_for_update_on_startup=false',
    'analytics.enabled=false',
    'feedback.enabled=false',
    ...more,
  ].flatMap((setting) => ['-c', setting])
  return run(program, ['exec', ...config, '--skip-git-repo-check', ...args], {
    cwd: at.work,
    env: { ...buildEnvironment(at), SVC_TOKEN: token },
  })
}

const codexCommands = ['cat greeting.txt', "sed -i 's/Hello/Good day/' greeting.txt", COPY_COMMAND]

/** Most models of Codex's own catalogue are offered a tool that runs JavaScript, which calls all others. */
function runCommand(cmd: string, offered: readonly string[]): Step {
  const script = offered.find((name) => /^(?:\w+__)?exec$/.test(name))
  if (!script) return { tool: 'exec_command', input: { cmd } }
  return { tool: script, input: { input: `text(await tools.exec_command(${JSON.stringify({ cmd })}))` } }
}

export const codexCli: Agent = {
  program: 'codex',
  steps: () => (offered) => codexCommands.map((cmd) => runCommand(cmd, offered)),
  work: (options, at) => runCodex(options, at, [prompt]),
  compact: (options, at) =>
    runCodex(options, at, ['resume', '--last', 'Go on.'], ['model_auto_compact_token_limit=500']),
}

/** An agent as the guide of LangChain makes one, with tools of its own for files. */
const langChainProgram = `
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { ChatOpenAI } from '@langchain/openai'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'
const { SVC_URL: url, SVC_TOKEN: apiKey, SVC_MODEL: model, SVC_PROMPT: content, SVC_STREAM: isStreamed } = process.env
const file = z.object({ file: z.string() })
const tools = [
  tool(({ file }) => readFile(file, 'utf8'), { name: 'read_file', description: 'Reads a file.', schema: file }),
  tool(async ({ file, text }) => (await writeFile(file, text), 'written'), {
    name: 'write_file', description: 'Writes a file.', schema: file.extend({ text: z.string() }),
  }),
  tool(async ({ file, to }) => (await copyFile(file, to), 'copied'), {
    name: 'copy_file', description: 'Copies a file.', schema: file.extend({ to: z.string() }),
  }),
]
const agent = createAgent({ model: new ChatOpenAI({ model, apiKey, maxRetries: 0, configuration: { baseURL: url + '/v1' } }), tools })
const input = { messages: [{ role: 'user', content }] }
const told = []
if (isStreamed) for await (const [message] of await agent.stream(input, { streamMode: 'messages' })) told.push(message.text)
else told.push((await agent.invoke(input)).messages.at(-1).text)
console.log(told.join(''))
`

/** The steps of the task with the tools of the LangChain agent. */
export const langChainSteps: Step[] = [
  { tool: 'read_file', input: { file: 'greeting.txt' } },
  { tool: 'write_file', input: { file: 'greeting.txt', text: 'Good day\n' } },
  { tool: 'copy_file', input: { file: 'greeting.txt', to: 'told.txt' } },
]

export const runLangChain = ({ program, url, token, model }: AgentOptions, at: Workshop, isStreamed: boolean) => {
  const variables = { SVC_URL: url, SVC_TOKEN: token, SVC_MODEL: model, SVC_PROMPT: prompt }
  const env = {
    ...buildEnvironment(at),
    ...variables,
    LANGSMITH_TRACING: 'false',
    ...(isStreamed && { SVC_STREAM: '1' }),
  }
  return run(process.execPath, [program], { cwd: at.work, env })
}
