import { constants } from 'node:os'
import { runCommand } from 'citty'
import manifest from '../package.json' with { type: 'json' }
import { createCommandContext } from './command-context.ts'
import { assertRunnable, findCommand, resolve, writeUsage } from './command-tree.ts'
import { toExitError } from './errors.ts'
import { checkFlags, plainSwitches } from './flags.ts'
import { createRoot, type Program, svc, svcConsole } from './programs.ts'
import { processTerminal, type Terminal } from './prompts.ts'

const programs = { svc, 'svc-console': svcConsole }

/** Runs the command line of this process. */
export async function run(name: keyof typeof programs): Promise<void> {
  // As of a program that the signal for it ends: `svc users list | head -1` wants no more.
  process.stdout.on('error', (error) => {
    process.exitCode = isUnread(error) ? 128 + constants.signals.SIGPIPE : 1
  })
  const exitCode = await main(programs[name], process.argv.slice(2), processTerminal())
  process.exitCode ??= exitCode
}

/** Whether nobody reads what is printed any more. */
const isUnread = (error: unknown) => (error as NodeJS.ErrnoException).code === 'EPIPE'

/** Runs a command line; returns the exit code: 0 done, 1 refused, 2 the command line is wrong. */
export async function main(
  program: Program,
  argv: string[],
  terminal: Terminal,
  env?: NodeJS.ProcessEnv,
): Promise<number> {
  const json = argv.includes('--json')
  const context = createCommandContext({ terminal, json, env })
  try {
    if (argv[0] === '--version') {
      context.print({ record: { name: program.name, version: manifest.version }, text: manifest.version })
      return 0
    }
    const found = await findCommand(createRoot(program, context), [program.name], helpFirst(argv))
    const { command, rest } = found
    if (rest.includes('--help') || rest.includes('-h')) {
      terminal.stdout.write(await writeUsage(found))
      return 0
    }
    assertRunnable(found)
    const args = (await resolve(command.args)) ?? {}
    const plain = plainSwitches(args, rest)
    const words = command.args ? checkFlags(args, plain) : plain
    // None of its subcommands was named, and citty would take the value of a flag for one.
    const { subCommands: _, ...alone } = command
    await runCommand(alone, { rawArgs: words })
    return Number(context.failed)
  } catch (error) {
    const { exitCode, code, message } = toExitError(error)
    if (json) terminal.stdout.write(`${JSON.stringify({ error: { code, message } })}\n`)
    if (!isUnread(error)) terminal.stderr.write(`${message}\n`)
    return exitCode
  }
}

/** `help token` is `token --help`. */
const helpFirst = ([first, ...rest]: string[]): string[] =>
  first === 'help' ? [...rest, '--help'] : first === undefined ? [] : [first, ...rest]
