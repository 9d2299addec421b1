import { appendFile, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  type AgentOptions,
  buildEnvironment,
  CLAUDE_SETUP,
  claudeCode,
  codexCli,
  type RunResult,
  run,
  type Workshop,
} from '../kit/ai/agents.ts'
import type { Steps } from '../kit/ai/task-model.ts'
import type { Models } from './observed-service.ts'

/** The name by which the programs know the gateway, and the tool that they call there. */
const NAME = 'svc'
export const TOOL = 'library_search'
export const INPUT = { text: 'Ovid' }

export interface GatewayOptions extends AgentOptions {
  /** A command that opens an address in the browser of a person who consents. */
  browser: string
  /** A token that the person has made, for a program that does not sign in. */
  personalToken?: string | undefined
}

/** A program that calls tools at the gateway. */
export interface GatewayProgram {
  name: string
  package: string
  scripts?: readonly string[]
  command: string
  /** The model that asks for the call; absent if the program has none. */
  model?: string
  adapter?: keyof Models
  steps?: Steps
  /** Enters the address, with the personal token if there is one, as the guide says. */
  add(options: GatewayOptions, at: Workshop): Promise<RunResult>
  signIn?(options: GatewayOptions, at: Workshop): Promise<RunResult>
  list(options: GatewayOptions, at: Workshop): Promise<RunResult>
  /** True if the output of `list` says that the gateway can be used. */
  isListed(output: string): boolean
  call(options: GatewayOptions, at: Workshop): Promise<RunResult>
}

const toUrl = ({ url }: AgentOptions) => `${url}/mcp`
const toHeader = (token: string) => `Authorization: Bearer ${token}`

const inWorkshop = ({ browser, personalToken }: GatewayOptions, at: Workshop) => ({
  cwd: at.work,
  env: { ...buildEnvironment(at), BROWSER: browser, ...(personalToken && { SVC_TOKEN: personalToken }) },
})

/** Runs a command in a terminal, without which some programs sign nobody in. */
const runInTerminal = (command: string, options: GatewayOptions, at: Workshop) =>
  run('script', ['--quiet', '--return', '--command', command, '/dev/null'], inWorkshop(options, at))

/** Has it connect before it asks the model, and offer all tools at once. */
const claudeSettings = { MCP_CONNECTION_NONBLOCKING: 'false', ENABLE_TOOL_SEARCH: 'false' }

const claude: GatewayProgram = {
  name: 'Claude Code',
  package: '@anthropic-ai/claude-code',
  scripts: [CLAUDE_SETUP],
  command: 'claude',
  model: 'claude-sonnet-4-6',
  adapter: 'anthropic',
  steps: [{ tool: `mcp__${NAME}__${TOOL}`, input: INPUT }],
  add: (options, at) => {
    const header = options.personalToken ? ['--header', toHeader(options.personalToken)] : []
    const args = ['mcp', 'add', '--transport', 'http', NAME, toUrl(options), ...header]
    return run(options.program, args, inWorkshop(options, at))
  },
  signIn: (options, at) => runInTerminal(`${options.program} mcp login ${NAME}`, options, at),
  list: (options, at) => run(options.program, ['mcp', 'list'], inWorkshop(options, at)),
  isListed: (output) => output.includes('Connected'),
  call: (options, at) => claudeCode.work({ ...options, allowedTools: `mcp__${NAME}`, env: claudeSettings }, at),
}

const codexServer = (options: GatewayOptions) =>
  [
    `[mcp_servers.${NAME}]`,
    `url = "${toUrl(options)}"`,
    ...(options.personalToken ? ['bearer_token_env_var = "SVC_TOKEN"'] : []),
    'default_tools_approval_mode = "approve"',
    '',
  ].join('\n')

const codex: GatewayProgram = {
  name: 'Codex',
  package: '@openai/codex',
  command: 'codex',
  model: 'scripted',
  adapter: 'openai',
  steps: (offered) => [{ tool: offered.find((name) => name.endsWith(TOOL)) ?? TOOL, input: INPUT }],
  async add(options, at) {
    const file = join(at.home, '.codex/config.toml')
    await mkdir(dirname(file), { recursive: true })
    await appendFile(file, `mcp_oauth_credentials_store = "file"\n${codexServer(options)}`)
    return { code: 0, output: '' }
  },
  signIn: (options, at) => run(options.program, ['mcp', 'login', NAME], inWorkshop(options, at)),
  list: (options, at) => run(options.program, ['mcp', 'list'], inWorkshop(options, at)),
  isListed: (output) => /OAuth|Bearer token/.test(output),
  call: (options, at) => codexCli.work(options, at),
}

/** Asks the gateway without a model, each time by the address. */
const inspect = (options: GatewayOptions, at: Workshop, args: readonly string[]) => {
  const header = ['--header', toHeader(options.personalToken ?? '')]
  return run(
    options.program,
    ['--cli', toUrl(options), '--transport', 'http', ...header, ...args],
    inWorkshop(options, at),
  )
}

const inspector: GatewayProgram = {
  name: 'Inspector',
  package: '@modelcontextprotocol/inspector',
  command: 'mcp-inspector',
  add: async () => ({ code: 0, output: '' }),
  list: (options, at) => inspect(options, at, ['--method', 'tools/list']),
  isListed: (output) => output.includes(TOOL),
  call: (options, at) =>
    inspect(options, at, ['--method', 'tools/call', '--tool-name', TOOL, '--tool-arg', `text=${INPUT.text}`]),
}

export const gatewayPrograms: readonly GatewayProgram[] = [claude, codex, inspector]
