import { text } from 'node:stream/consumers'
import { readEnv } from '../server/config/env.ts'
import type { ClusterUse } from '../server/database/cluster-lock.ts'
import { createLog, inWords, usesWords } from '../server/ops/log.ts'
import type { CoreService } from '../server/service.ts'
import { UsageError } from './errors.ts'
import { catchInterruption } from './interruption.ts'
import { type Prompts, TerminalPrompts } from './prompts.ts'
import { writeAll } from './rows.ts'
import type { Terminal } from './terminal.ts'

/** The result of a command: a record for programs, a text for people. */
interface Outcome {
  record: unknown
  text: string
}

/** The parts that every command is given. */
export interface CommandContext {
  /** Settings in place of those of the process. */
  env: NodeJS.ProcessEnv | undefined
  prompts: Prompts
  /**
   * Opens the database for one task. Never across a question: a stopped service's database runs while it is open, and
   * somebody may take an hour to answer.
   */
  open<T>(task: (core: CoreService) => Promise<T>, use?: ClusterUse): Promise<T>
  /** What was piped in, without the line end. */
  piped(): Promise<string>
  /** Prints the result, as JSON with --json. */
  print(outcome: Outcome): void
  /** Set by a command that has printed what is wrong: its exit code is 1. */
  failed: boolean
  /** Whether --json was given. */
  json: boolean
  /** Writes text that comes piece by piece. */
  write(chunks: AsyncIterable<string>): Promise<void>
}

export interface CommandContextOptions {
  terminal: Terminal
  json: boolean
  env?: NodeJS.ProcessEnv | undefined
}

export const createCommandContext = ({ terminal, json, env }: CommandContextOptions): CommandContext => ({
  env,
  failed: false,
  prompts: new TerminalPrompts(terminal),
  piped: async () => {
    // A password typed at a terminal would be visible.
    if ('isTTY' in terminal.input && terminal.input.isTTY) throw new UsageError('Nothing is piped in.')
    return (await text(terminal.input)).replace(/\r?\n$/, '')
  },
  open: (task, use = 'command') => withCore({ terminal, env, use }, task),
  json,
  write: (chunks) => writeAll(terminal.stdout, chunks),
  print: (outcome) => void terminal.stdout.write(`${json ? JSON.stringify(outcome.record) : outcome.text}\n`),
})

interface Opening {
  terminal: Terminal
  env: NodeJS.ProcessEnv | undefined
  use: ClusterUse
}

async function withCore<T>({ terminal, env: source, use }: Opening, task: (core: CoreService) => Promise<T>) {
  const env = readEnv(source)
  // Imported on demand: loading the whole service takes longer than `--help` should.
  const { openCore } = await import('../server/service.ts')
  const notify = (sentence: string) => void terminal.stderr.write(`${sentence}\n`)
  const interruption = catchInterruption()
  try {
    // What a service tells its operator would stand between questions and answers, unless somebody asks for it.
    const output = usesWords(env.LOG_FORMAT, terminal.interactive)
      ? await inWords(terminal.stderr, false)
      : terminal.stderr
    const log = createLog(env.variables['LOG_LEVEL'] ? env.LOG_LEVEL : 'error', output)
    const core = await openCore({ env, log, notify, signal: interruption.signal }, use)
    try {
      return await interruption.orEnd(() => task(core))
    } finally {
      await core.close()
    }
  } finally {
    interruption.release()
  }
}

/** The flag that every command has. */
export const json = { type: 'boolean', description: 'Print exactly one JSON document' } as const
