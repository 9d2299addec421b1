import { constants } from 'node:os'
import { type ArgsDef, runCommand } from 'citty'
import manifest from '../package.json' with { type: 'json' }
import { createCommandContext, createRefusedContext } from './command-context.ts'
import {
  type AnyCommand,
  assertRunnable,
  type FoundCommand,
  findCommand,
  resolveValue,
  writeUsage,
} from './command-tree.ts'
import { toExitError, UsageError } from './errors.ts'
import { addFaults, checkFlags, normalizeSwitches } from './flags.ts'
import { createRoot, type Program, svc, svcConsole } from './programs.ts'
import { getProcessTerminal, type Terminal } from './prompts.ts'

const programs = { svc, 'svc-console': svcConsole }

/** Runs the command line of this process. */
export async function run(name: keyof typeof programs): Promise<void> {
  // Use the exit code of a program that SIGPIPE ends, as where `head` reads what it prints.
  process.stdout.on('error', (error) => {
    process.exitCode = isBrokenPipe(error) ? 128 + constants.signals.SIGPIPE : 1
  })
  const exitCode = await main(programs[name], process.argv.slice(2), getProcessTerminal())
  process.exitCode ??= exitCode
}

/** True if the reader of standard output has closed it. */
const isBrokenPipe = (error: unknown) => (error as NodeJS.ErrnoException).code === 'EPIPE'

/** Runs a command line and returns the exit code: 0 for success, 1 for a refusal, 2 for a wrong command line. */
export async function main(
  program: Program,
  argv: string[],
  terminal: Terminal,
  env?: NodeJS.ProcessEnv,
): Promise<number> {
  const isJson = argv.includes('--json')
  const options = { terminal, isJson, env }
  const context = createCommandContext(options)
  try {
    if (argv[0] === '--version') {
      context.print({ record: { name: program.name, version: manifest.version }, text: manifest.version })
      return 0
    }
    const resolved = await findCommand(createRoot(program, context), [program.name], moveHelpToEnd(argv))
    const { command, rest } = resolved
    if (rest.includes('--help') || rest.includes('-h')) {
      terminal.stdout.write(await writeUsage(resolved))
      return 0
    }
    assertRunnable(resolved)
    const { words, faults } = await readWords(resolved)
    if (faults.length > 0) {
      const refused = await findCommand(createRoot(program, createRefusedContext(options)), [], resolved.path.slice(1))
      throw new UsageError(addFaults(faults, await findFaultyValues(refused.command, words)).join('\n'))
    }
    await runCommand(omitSubCommands(command), { rawArgs: words })
    return Number(context.hasFailed)
  } catch (error) {
    const { exitCode, code, message } = toExitError(error)
    if (isJson) terminal.stdout.write(`${JSON.stringify({ error: { code, message } })}\n`)
    if (!isBrokenPipe(error)) terminal.stderr.write(`${message}\n`)
    return exitCode
  }
}

/** Reads the words after the name of a command. */
async function readWords({ command, rest }: FoundCommand) {
  const args = (await resolveValue(command.args)) ?? {}
  const words = normalizeSwitches(args, rest)
  return command.args ? checkFlags(args, words) : { words, faults: [] }
}

/** No subcommand was named, but citty would take the value of a flag for one. */
const omitSubCommands = ({ subCommands: _, ...command }: AnyCommand): AnyCommand => command

/** Returns the faults that a refused command finds in its values. Other errors come from what is missing. */
async function findFaultyValues(command: AnyCommand, words: string[]): Promise<string[]> {
  const args: ArgsDef = (await resolveValue(command.args)) ?? {}
  const optional = Object.fromEntries(
    Object.entries(args).map(([name, arg]) => [name, { ...arg, required: false } as ArgsDef[string]]),
  )
  try {
    await runCommand({ ...omitSubCommands(command), args: optional }, { rawArgs: words })
  } catch (error) {
    if (error instanceof UsageError) return error.message.split('\n').filter(Boolean)
  }
  return []
}

/** Converts `help token` to `token --help`. */
const moveHelpToEnd = ([first, ...rest]: string[]): string[] =>
  first === 'help' ? [...rest, '--help'] : first === undefined ? [] : [first, ...rest]
