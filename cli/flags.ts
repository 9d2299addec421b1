import { parseArgs } from 'node:util'
import type { ArgsDef } from 'citty'
import { nearestOf } from '../server/config/spelling.ts'
import { UsageError } from './errors.ts'

/** Checks the flags strictly, as the parser of citty accepts unknown flags and missing values. */
export function checkFlags(args: ArgsDef, argv: string[]): void {
  const flags = Object.entries(args).filter(([, { type }]) => type !== 'positional')
  const options = Object.fromEntries(
    flags.map(([name, { type }]) => [name, { type: type === 'boolean' ? 'boolean' : 'string' } as const]),
  )
  const { positionals } = strictly(
    () => parseArgs({ args: argv, options, allowPositionals: true }),
    flags.map(([name]) => name),
  )
  const stray = positionals[Object.keys(args).length - flags.length]
  if (stray !== undefined) throw new UsageError(`'${stray}' is one word too many.`)
}

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
