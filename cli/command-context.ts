import { constants } from 'node:os'
import { text } from 'node:stream/consumers'
import { runUntilAborted } from '../routers/core/timeout.ts'
import { readEnv } from '../server/config/env.ts'
import type { CoreService } from '../server/core.ts'
import type { ClusterUse } from '../server/database/embedded-database.ts'
import { createLog, createPrettyOutput, shouldPrettyPrint } from '../server/ops/log.ts'
import { UsageError } from './errors.ts'
import { WIDTH, writeChunks } from './output.ts'
import { type Prompts, type Terminal, TerminalPrompts } from './prompts.ts'

/** Result of a command: a record for programs, and a text for people. */
interface CommandResult {
  record: unknown
  text: string
}

/** Services and options that each command gets; a command acts only by them, so that one can be run to find its faults. */
export interface CommandContext {
  /** Settings that replace those of the process. */
  env: NodeJS.ProcessEnv | undefined
  prompts: Prompts
  /**
   * Opens the database for one task. Don't ask questions meanwhile: if the service is stopped, its database runs while
   * it is open, and a person may take an hour to answer.
   */
  open<T>(task: (core: CoreService) => Promise<T>, use?: ClusterUse): Promise<T>
  /** Runs a task that cleans up when its signal aborts, as after Ctrl-C. */
  runInterruptible<T>(task: (signal: AbortSignal) => Promise<T>): Promise<T>
  /** Returns the piped input without the final line break. */
  readStdin(): Promise<string>
  /** Prints the result, as JSON with --json. */
  print(result: CommandResult): void
  /** True if the command has printed a failure, so that the exit code is 1. */
  hasFailed: boolean
  /** True with --json. */
  isJson: boolean
  /** Width of the terminal in characters; a default if the output goes elsewhere. */
  width: number
  /** Writes text in chunks. */
  write(chunks: AsyncIterable<string> | Iterable<string>): Promise<void>
}

export interface CommandContextOptions {
  terminal: Terminal
  isJson: boolean
  env?: NodeJS.ProcessEnv | undefined
}

export const createCommandContext = ({ terminal, isJson, env }: CommandContextOptions): CommandContext => ({
  env,
  hasFailed: false,
  prompts: new TerminalPrompts(terminal),
  readStdin: async () => {
    // A password typed at a terminal would be visible.
    if ('isTTY' in terminal.input && terminal.input.isTTY) throw new UsageError('Standard input is empty.')
    return (await text(terminal.input)).replace(/\r?\n$/, '')
  },
  open: (task, use = 'command') => withCore({ terminal, env, use }, task),
  runInterruptible,
  isJson,
  width: ('columns' in terminal.stdout && Number(terminal.stdout.columns)) || WIDTH,
  write: (chunks) => writeChunks(terminal.stdout, chunks),
  print: (result) => void terminal.stdout.write(`${isJson ? JSON.stringify(result.record) : result.text}\n`),
})

/** The context of a command that only looks for faults of its command line: whatever it does with it is refused. */
export function createRefusedContext(options: CommandContextOptions): CommandContext {
  const refuse = () => {
    throw new UsageError('')
  }
  return {
    ...createCommandContext(options),
    prompts: new TerminalPrompts(options.terminal, true),
    readStdin: async () => refuse(),
    open: async () => refuse(),
    runInterruptible: async () => refuse(),
    write: async () => refuse(),
    print: refuse,
  }
}

interface CoreOptions {
  terminal: Terminal
  env: NodeJS.ProcessEnv | undefined
  use: ClusterUse
}

async function withCore<T>({ terminal, env: source, use }: CoreOptions, task: (core: CoreService) => Promise<T>) {
  const env = readEnv(source)
  // Imported on demand, because loading the services takes longer than `--help` should.
  const { openCore } = await import('../server/core.ts')
  const notify = (sentence: string) => void terminal.stderr.write(`${sentence}\n`)
  const interruption = catchInterruption()
  try {
    // By default only errors are logged, since other messages would appear between questions and answers.
    const output = shouldPrettyPrint(env.LOG_FORMAT, terminal.isInteractive)
      ? await createPrettyOutput(terminal.stderr, false)
      : terminal.stderr
    const log = createLog(env.variables['LOG_LEVEL'] ? env.LOG_LEVEL : 'error', output)
    const core = await openCore({ env, log, notify, signal: interruption.signal }, use)
    try {
      return await runUntilAborted(() => task(core), interruption.signal)
    } finally {
      await core.close()
    }
  } finally {
    interruption.release()
  }
}

async function runInterruptible<T>(task: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const interruption = catchInterruption()
  try {
    return await task(interruption.signal)
  } finally {
    interruption.release()
  }
}

/** The flag that all commands have. */
export const json = { type: 'boolean', description: 'Print exactly one JSON document.' } as const

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
/** A terminal and npm both forward a single Ctrl-C, so a second signal within this time is ignored. */
const SAME_SIGNAL_MS = 500

/** Interrupts a running command. */
interface Interruption {
  /** Aborts when a signal arrives or standard output cannot be written any more. */
  signal: AbortSignal
  /** Stops catching signals; ends the process with 128 and the signal number if a signal arrived. */
  release(): void
}

/**
 * Catches Ctrl-C, `kill` and a closed terminal, so that a command cleans up before it ends. A second signal ends the
 * process at once; a database that it started then runs until the next start takes it over.
 */
function catchInterruption(): Interruption {
  const ending = new AbortController()
  let caught: { name: NodeJS.Signals; at: number } | undefined
  const exit = (name: NodeJS.Signals) => process.exit(128 + constants.signals[name])
  const onSignal = (name: NodeJS.Signals) => {
    if (caught && performance.now() - caught.at > SAME_SIGNAL_MS) exit(caught.name)
    caught ??= { name, at: performance.now() }
    ending.abort(new Error(`The command was ended by ${name}.`))
  }
  const onError = (error: Error) => ending.abort(error)
  for (const name of signals) process.on(name, onSignal)
  process.stdout.on('error', onError)
  return {
    signal: ending.signal,
    release() {
      for (const name of signals) process.off(name, onSignal)
      process.stdout.off('error', onError)
      if (caught) exit(caught.name)
    },
  }
}
