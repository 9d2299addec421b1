import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  type AgentOptions,
  buildEnvironment,
  CLAUDE_SETUP,
  COPY_COMMAND,
  claudeCode,
  codexCli,
  langChainSteps,
  prompt,
  type RunResult,
  run,
  type Workshop,
} from '../kit/ai/agents.ts'
import type { Steps } from '../kit/ai/task-model.ts'
import type { Models } from './observed-service.ts'

/** A program or library of the field. */
export interface Client {
  name: string
  /** The facade that it speaks to. */
  facade: 'anthropic' | 'openai'
  adapter: keyof Models
  /** Packages whose newest versions are installed. The version of the first one is reported. */
  packages: readonly [string, ...string[]]
  /** Scripts of packages that the installation needs. */
  scripts?: readonly string[]
  /** Path of the program in the folder of the installation. */
  program: string
  prepare?(folder: string): Promise<void>
  /** Lists the models that it is tried with. */
  models(folder: string): Promise<readonly string[]>
  steps(file: string): Steps
  work(options: AgentOptions, workshop: Workshop): Promise<RunResult>
}

const MODEL = 'scripted'
const CLAUDE_MODEL = 'claude-sonnet-4-6'

/** Describes a command line that is configured by files in its home and by its environment. */
interface CommandLine {
  name: string
  package: string
  scripts?: readonly string[]
  command: string
  steps: Client['steps']
  files?(options: AgentOptions): Record<string, unknown>
  env?(options: AgentOptions, workshop: Workshop): Record<string, string>
  /** Runs before the task. */
  signIn?(options: AgentOptions): string[]
  args(options: AgentOptions, workshop: Workshop): string[]
}

const commandLine = ({ name, scripts, command, steps, files, env, signIn, args, ...line }: CommandLine): Client => ({
  name,
  facade: 'openai',
  adapter: 'openai-compatible',
  packages: [line.package],
  ...(scripts && { scripts }),
  program: `node_modules/.bin/${command}`,
  models: async () => [MODEL],
  steps,
  async work(options, workshop) {
    for (const [path, content] of Object.entries(files?.(options) ?? {})) {
      await mkdir(dirname(join(workshop.home, path)), { recursive: true })
      await writeFile(join(workshop.home, path), JSON.stringify(content))
    }
    const at = { cwd: workshop.work, env: { ...buildEnvironment(workshop), ...env?.(options, workshop) } }
    if (signIn) await run(options.program, signIn(options), at)
    return run(options.program, args(options, workshop), at)
  },
})

/** Describes a library, which `programs/` uses as its guide says, with tools of its own. */
const library = (name: string, packages: Client['packages'], more: Partial<Client> = {}): Client => {
  const program = `${name.toLowerCase().replace(/ \(.*/, '').replaceAll(' ', '-')}.mjs`
  return {
    name,
    facade: 'openai',
    adapter: 'openai-compatible',
    packages: [...packages, 'zod'],
    program,
    async prepare(folder) {
      for (const file of ['files.mjs', program])
        await writeFile(join(folder, file), await readFile(join(import.meta.dirname, 'programs', file)))
    },
    models: async () => [MODEL],
    steps: () => langChainSteps,
    work({ program, url, token, model }, workshop) {
      const variables = { SVC_URL: url, SVC_TOKEN: token, SVC_MODEL: model, SVC_PROMPT: prompt }
      const env = { ...buildEnvironment(workshop), ...variables, OPENAI_API_KEY: token, ANTHROPIC_API_KEY: token }
      return run(process.execPath, [program], { cwd: workshop.work, env })
    },
    ...more,
  }
}

const claude: Client = {
  work: claudeCode.work,
  name: 'Claude Code',
  facade: 'anthropic',
  adapter: 'anthropic',
  packages: ['@anthropic-ai/claude-code'],
  scripts: [CLAUDE_SETUP],
  program: 'node_modules/.bin/claude',
  models: async () => [CLAUDE_MODEL],
  // A search of the web is found by the client's search for tools, and is a request of its own.
  steps: (file) => [
    ...claudeCode.steps(file),
    { tool: 'ToolSearch', input: { query: 'select:WebSearch' } },
    { tool: 'WebSearch', input: { query: 'good day' } },
  ],
}

/** Codex with each model of its own catalogue; most of them have one tool, which runs JavaScript. */
const codex: Client = {
  name: 'Codex',
  facade: 'openai',
  adapter: 'openai',
  packages: ['@openai/codex'],
  program: 'node_modules/.bin/codex',
  async models(folder) {
    const { output } = await run(join(folder, 'node_modules/.bin/codex'), ['debug', 'models'], {
      cwd: folder,
      env: { PATH: process.env['PATH'], HOME: folder },
    })
    const { models } = JSON.parse(output.slice(output.indexOf('{"models"'))) as { models: { slug: string }[] }
    return models.map(({ slug }) => slug)
  },
  steps: codexCli.steps,
  work: codexCli.work,
}

export const clients: readonly Client[] = [
  claude,
  codex,
  commandLine({
    name: 'opencode',
    package: 'opencode-ai',
    scripts: ['opencode-ai/postinstall.mjs'],
    command: 'opencode',
    steps: (file) => [
      { tool: 'read', input: { filePath: file } },
      { tool: 'edit', input: { filePath: file, oldString: 'Hello', newString: 'Good day' } },
      { tool: 'bash', input: { command: COPY_COMMAND, description: 'Copies the greeting' } },
    ],
    files: ({ url, token, model }) => ({
      '.config/opencode/opencode.json': {
        provider: {
          svc: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${url}/v1`, apiKey: token },
            models: { [model]: {} },
          },
        },
      },
    }),
    args: ({ model }) => ['run', '--auto', '--model', `svc/${model}`, prompt],
  }),
  commandLine({
    name: 'Cline',
    package: 'cline',
    command: 'cline',
    steps: (file) => [
      { tool: 'read_files', input: { files: [{ path: file }] } },
      { tool: 'editor', input: { path: file, old_text: 'Hello', new_text: 'Good day' } },
      { tool: 'run_commands', input: { commands: [COPY_COMMAND] } },
    ],
    signIn: ({ url, token, model }) => [
      'auth',
      '--provider',
      'openai',
      '--baseurl',
      `${url}/v1`,
      '--apikey',
      token,
      '--modelid',
      model,
    ],
    args: ({ model }) => ['--provider', 'openai', '--model', model, '--json', prompt],
  }),
  commandLine({
    name: 'Continue',
    package: '@continuedev/cli',
    command: 'cn',
    steps: (file) => [
      { tool: 'Read', input: { filepath: file } },
      { tool: 'Edit', input: { file_path: file, old_string: 'Hello', new_string: 'Good day' } },
      { tool: 'Bash', input: { command: COPY_COMMAND } },
    ],
    files: ({ url, token, model }) => ({
      'continue.yaml': {
        name: 'svc',
        version: '1.0.0',
        schema: 'v1',
        models: [{ name: model, provider: 'openai', model, apiBase: `${url}/v1`, apiKey: token, roles: ['chat'] }],
      },
    }),
    env: () => ({ CONTINUE_TELEMETRY_ENABLED: '0' }),
    args: (_, { home }) => ['--print', '--auto', '--config', join(home, 'continue.yaml'), prompt],
  }),
  commandLine({
    name: 'pi',
    package: '@earendil-works/pi-coding-agent',
    command: 'pi',
    steps: (file) => [
      { tool: 'read', input: { path: file } },
      { tool: 'edit', input: { path: file, edits: [{ oldText: 'Hello', newText: 'Good day' }] } },
      { tool: 'bash', input: { command: COPY_COMMAND } },
    ],
    files: ({ url, token, model }) => ({
      '.pi/agent/models.json': {
        providers: { svc: { baseUrl: `${url}/v1`, api: 'openai-completions', apiKey: token, models: [{ id: model }] } },
      },
    }),
    args: ({ model }) => ['--print', '--offline', '--provider', 'svc', '--model', model, prompt],
  }),
  commandLine({
    name: 'Qwen Code',
    package: '@qwen-code/qwen-code',
    command: 'qwen',
    steps: (file) => [
      { tool: 'read_file', input: { file_path: file } },
      { tool: 'edit', input: { file_path: file, old_string: 'Hello', new_string: 'Good day' } },
      { tool: 'run_shell_command', input: { command: COPY_COMMAND, is_background: false } },
    ],
    env: ({ url, token, model }) => ({
      OPENAI_BASE_URL: `${url}/v1`,
      OPENAI_API_KEY: token,
      OPENAI_MODEL: model,
    }),
    args: () => ['--auth-type', 'openai', '--yolo', prompt],
  }),
  library('OpenAI Agents', ['@openai/agents']),
  library('AI SDK', ['ai', '@ai-sdk/openai', '@ai-sdk/openai-compatible']),
  library('LangGraph', ['@langchain/langgraph', '@langchain/core', '@langchain/openai']),
  library('LlamaIndex', ['llamaindex', '@llamaindex/openai', '@llamaindex/workflow']),
  library('Mastra', ['@mastra/core', '@ai-sdk/openai-compatible']),
]
