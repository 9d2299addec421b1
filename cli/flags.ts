import { parseArgs } from 'node:util'
import type { ArgsDef } from 'citty'
import { nearestOf } from '../server/config/spelling.ts'
import { UsageError } from './errors.ts'

/** What the help says of the value of a flag that is a list: its parts come with commas between, or each by a flag of its own. */
export const LIST = 'A,B'

/**
 * Checks the flags strictly, as the parser of citty accepts unknown flags and missing values. Returns the words with each list
 * in one.
 */
export function checkFlags(args: ArgsDef, argv: string[]): string[] {
  const flags = Object.entries(args).filter(([, { type }]) => type !== 'positional')
  const options = Object.fromEntries(
    flags.map(([name, { type }]) => [
      name,
      type === 'boolean' ? ({ type } as const) : ({ type: 'string', multiple: true } as const),
    ]),
  )
  const { values, positionals } = strictly(
    () => parseArgs({ args: argv, options, allowPositionals: true }),
    flags.map(([name]) => name),
  )
  // Of several values the parser of citty would take the last, and say nothing of the others.
  const again = Object.keys(values).filter((name) => [values[name]].flat().length > 1)
  const refused = again.find((name) => args[name]?.valueHint !== LIST || argv.includes('--'))
  if (refused) throw new UsageError(`--${refused} is given more than once.`)
  const stray = positionals[Object.keys(args).length - flags.length]
  if (stray !== undefined) throw new UsageError(`'${stray}' is one word too many.`)
  return [...argv, ...again.map((name) => `--${name}=${[values[name]].flat().join()}`)]
}

/** Earlier versions gave switches a value: `--force=true` and `--force=1` are `--force`. Another value is refused. */
export const plainSwitches = (args: ArgsDef, argv: readonly string[]): string[] =>
  argv.map((word) => {
    const [, name = ''] = /^--([\w-]+)=(?:true|1)$/.exec(word) ?? []
    return args[name]?.type === 'boolean' ? `--${name}` : word
  })

/** Keeps the first sentence of the parser's message, which is enough. */
function strictly<T>(parse: () => T, names: readonly string[]): T {
  try {
    return parse()
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split(/\.\s/)
    const [, unknown] = /^Unknown option '--([^']+)'/.exec(sentence) ?? []
    const meant = unknown && nearestOf(unknown, [...names, 'help'])
    throw new UsageError(meant ? `${sentence}. Did you mean '--${meant}'?` : `${sentence}.`)
  }
}
