import { stripVTControlCharacters } from 'node:util'
import { type Resolvable, renderUsage, type SubCommandsDef } from 'citty'
import { findNearest } from '../routers/ports/spelling.ts'
import { UsageError } from './errors.ts'
import { wrapText } from './output.ts'

export type AnyCommand = Awaited<Exclude<SubCommandsDef[string], (...none: never[]) => unknown>>

export interface FoundCommand {
  path: string[]
  command: AnyCommand
  rest: string[]
}

/** Finds the command that the first words of a command line name; throws if a word names none. */
export async function findCommand(command: AnyCommand, path: string[], argv: string[]): Promise<FoundCommand> {
  const commands = (await resolveValue(command.subCommands)) ?? {}
  const [word = '', ...rest] = argv
  const next = Object.hasOwn(commands, word) ? await resolveValue(commands[word]) : undefined
  if (next) return findCommand(next, [...path, word], rest)
  const isWord = word !== '' && !word.startsWith('-')
  if (command.subCommands && isWord) throw new UsageError(describeUnknown(path, word, Object.keys(commands)))
  return { path, command, rest: argv }
}

export const resolveValue = <T>(value: Resolvable<T>): Promise<T> =>
  Promise.resolve(typeof value === 'function' ? (value as () => T | Promise<T>)() : value)

/** Returns the help of a command in lines that fit a terminal. */
export async function writeUsage({ path, command }: FoundCommand): Promise<string> {
  const meta = { ...(await resolveValue(command.meta)), name: path.join(' ') }
  const usage = stripVTControlCharacters(await renderUsage({ ...command, meta })).replace(commandList, '<command>')
  const version = path.length === 1 ? [`\`${path[0]} --version\` prints the version.`] : []
  return `${[...usage.split('\n').map(wrapLine), ...version].join('\n')}\n`
}

const commandList = /(?:\S+\|){4,}\S+/

/** Wraps the description behind its flag or command. */
function wrapLine(line: string): string {
  const [, lead, text] = /^( +\S+ {2,})(\S.*)$/.exec(line.trimEnd()) ?? []
  return lead && text ? wrapText(lead, text) : line.trimEnd()
}

/** Throws if the command is only a group of other commands. */
export function assertRunnable({ path, command, rest: [word] }: FoundCommand): void {
  if (command.run) return
  throw new UsageError(
    word === undefined ? `Say which command. ${writeHelpHint(path)}` : describeUnknown(path, word, []),
  )
}

function describeUnknown(path: string[], word: string, commands: string[]): string {
  const nearest = findNearest(word, commands)
  const hint = nearest === undefined ? '' : ` Did you mean '${nearest}'?`
  return `There is no command '${word}'.${hint} ${writeHelpHint(path)}`
}

const writeHelpHint = (path: string[]) => `\`${path.join(' ')} --help\` lists the commands.`
