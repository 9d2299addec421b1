import { parseArgs } from 'node:util'
import type { ArgsDef } from 'citty'
import { nearestOf } from '../server/config/spelling.ts'
import { UsageError } from './errors.ts'

/** Checks the flags strictly, as the parser of citty accepts unknown flags and missing values. */
export function checkFlags(args: ArgsDef, argv: string[]): void {
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
  const again = Object.keys(values).find((name) => [values[name]].flat().length > 1)
  if (again) throw new UsageError(`--${again} is given more than once.`)
  const stray = positionals[Object.keys(args).length - flags.length]
  if (stray !== undefined) throw new UsageError(`'${stray}' is one word too many.`)
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
