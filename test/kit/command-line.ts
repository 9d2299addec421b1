import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { expect, vi } from 'vitest'
import { main } from '../../cli/main.ts'
import { type Program, svc } from '../../cli/programs.ts'
import { cloneDatabase } from './database.ts'
import { queryRows } from './postgres-client.ts'

export interface CommandResult {
  exitCode: number
  stdout: string
  stderr: string
}

/** A text that the terminal shows, and the input that follows it. */
export type TypedInput = readonly [sees: string, types: string | (() => Promise<string>)]

interface RunOptions {
  env: Record<string, string>
  program?: Program
  /** No terminal is attached by default. */
  typing?: readonly TypedInput[]
  /** Standard input, where no terminal is attached. */
  piped?: string
}

/** Runs a command line in this process, with or without a terminal. */
export async function runCommand(
  argv: string[],
  { env, program = svc, typing, piped }: RunOptions,
): Promise<CommandResult> {
  const input = new PassThrough()
  const stdout = createCollector()
  const stderr = createCollector()
  const terminal = { input, stdout, stderr, isInteractive: typing !== undefined }
  const ended = main(program, argv, terminal, env)
  if (piped !== undefined) input.end(piped)
  await typeInput(typing ?? [], stderr, input)
  const exitCode = await ended
  return { exitCode, stdout: stdout.text(), stderr: stderr.text() }
}

async function typeInput(typing: readonly TypedInput[], output: Collector, input: PassThrough): Promise<void> {
  let position = 0
  for (const [sees, types] of typing) {
    const findText = () => output.text().indexOf(sees, position)
    await vi.waitFor(() => expect(findText(), `${sees} in ${output.text()}`).toBeGreaterThanOrEqual(0), {
      timeout: 60_000,
    })
    position = findText() + sees.length
    input.write(typeof types === 'string' ? types : await types())
  }
}

type Collector = Writable & { text(): string }

function createCollector(): Collector {
  const chunks: string[] = []
  const sink = new Writable({
    write(chunk, _, done) {
      chunks.push(String(chunk))
      done()
    },
  })
  return Object.assign(sink, { text: () => stripVTControlCharacters(chunks.join('')) })
}

export const terminalKeys = { enter: '\r', down: '\x1b[B', ctrlC: '\x03' }

/** Command lines over a database and a data folder of their own. */
export async function openHost(settings: Record<string, string> = {}) {
  const database = await cloneDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'svc-cli-'))
  const env = { DATABASE_URL: database.url, DATA_DIR: folder, DATABASE_POOL: '2', ...settings }
  return {
    env,
    folder,
    run: (argv: string[], options: Omit<RunOptions, 'env'> = {}) => runCommand(argv, { env, ...options }),
    rows: (text: string) => queryRows(database.url, text),
    /** Runs a command that may print nothing but a document, and returns it. */
    json: async (...argv: string[]) => JSON.parse((await runCommand([...argv, '--json'], { env })).stdout),
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** A database address that refuses connections: a command that connects to it exits with 1. */
export const unreachableHost = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none', DATA_DIR: '/dev/null/none' }

export const adaFlags = ['--username', 'ada', '--email', 'ada@example.org', '--name', 'Ada Example']
