import { parseArgs, stripVTControlCharacters } from 'node:util'
import { type ArgsDef, type Resolvable, renderUsage, runCommand, type SubCommandsDef } from 'citty'
import { type Program, rootOf } from './programs.ts'
import { refusalOf, UsageError } from './refusals.ts'
import { createSession } from './session.ts'
import type { Terminal } from './terminal.ts'

/** Runs a command line; returns the exit code: 0 done, 1 refused, 2 the command line is wrong. */
export async function main(
  program: Program,
  argv: string[],
  terminal: Terminal,
  env?: NodeJS.ProcessEnv,
): Promise<number> {
  const json = argv.includes('--json')
  try {
    const root = rootOf(program, createSession({ terminal, json, env }))
    const { path, command, rest } = await find(root, [program.name], argv)
    if (rest.includes('--help') || rest.includes('-h')) {
      terminal.stdout.write(await usageOf(path, command, terminal))
      return 0
    }
    if (command.subCommands) throw new UsageError(lost(path, rest))
    checkFlags((await resolve(command.args)) ?? {}, rest)
    await runCommand(command, { rawArgs: rest })
    return 0
  } catch (error) {
    const { exitCode, code, message } = refusalOf(error)
    if (json) terminal.stdout.write(`${JSON.stringify({ error: { code, message } })}\n`)
    terminal.stderr.write(`${message}\n`)
    return exitCode
  }
}

type AnyCommand = Awaited<Exclude<SubCommandsDef[string], (...none: never[]) => unknown>>

interface Found {
  path: string[]
  command: AnyCommand
  rest: string[]
}

/** Follows the words of a command line as far as they name commands. */
async function find(command: AnyCommand, path: string[], argv: string[]): Promise<Found> {
  const commands = (await resolve(command.subCommands)) ?? {}
  const [word = '', ...rest] = argv
  const next = Object.hasOwn(commands, word) ? await resolve(commands[word]) : undefined
  return next ? find(next, [...path, word], rest) : { path, command, rest: argv }
}

const resolve = <T>(value: Resolvable<T>): Promise<T> =>
  Promise.resolve(typeof value === 'function' ? (value as () => T | Promise<T>)() : value)

async function usageOf(path: string[], command: AnyCommand, { colours }: Terminal): Promise<string> {
  const meta = { ...(await resolve(command.meta)), name: path.join(' ') }
  const usage = `${await renderUsage({ ...command, meta })}\n`
  return colours ? usage : stripVTControlCharacters(usage)
}

function lost(path: string[], [word]: string[]): string {
  const help = `\`${path.join(' ')} --help\` lists the commands.`
  return word === undefined ? `Say which command. ${help}` : `There is no command '${word}'. ${help}`
}

/** The parser of the commands lets unknown flags and missing values pass. */
function checkFlags(args: ArgsDef, argv: string[]): void {
  const flags = Object.entries(args).filter(([, { type }]) => type !== 'positional')
  const options = Object.fromEntries(
    flags.map(([name, { type }]) => [name, { type: type === 'boolean' ? 'boolean' : 'string' } as const]),
  )
  const { positionals } = strictly(() => parseArgs({ args: argv, options, allowPositionals: true }))
  const stray = positionals[Object.keys(args).length - flags.length]
  if (stray !== undefined) throw new UsageError(`'${stray}' is one word too many.`)
}

/** Of the parser's complaints the first sentence says it all. */
function strictly<T>(parse: () => T): T {
  try {
    return parse()
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split(/\.\s/)
    throw new UsageError(`${sentence}.`)
  }
}
