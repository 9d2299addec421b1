import { parseArgs } from 'node:util'
import type { ArgsDef } from 'citty'
import { findNearest } from '../routers/ports/spelling.ts'
import { UsageError } from './errors.ts'

/** Shown in the help as the value of a list flag, which takes comma separated values or may be repeated. */
export const LIST = 'A,B'

/**
 * Checks flags strictly, because citty accepts unknown flags and missing values. Returns the arguments with repeated
 * list flags joined; throws with all errors.
 */
export function checkFlags(args: ArgsDef, argv: string[]): string[] {
  const flags = Object.entries(args).filter(([, { type }]) => type !== 'positional')
  const options = Object.fromEntries(
    flags.map(([name, { type }]) => [name, { type: type === 'boolean' ? 'boolean' : 'string' } as const]),
  )
  const { tokens } = parseArgs({ args: argv, options, allowPositionals: true, strict: false, tokens: true })
  const givenOptions = tokens.filter((token) => token.kind === 'option')
  const words = tokens.filter((token) => token.kind === 'positional').map(({ value }) => value)
  const positionals = Object.entries(args).filter(([, { type }]) => type === 'positional')
  // citty would use the last of several values and ignore the others.
  const repeated = flags.filter(([name]) => givenOptions.filter((option) => option.name === name).length > 1)
  const refused = repeated.filter(([, { valueHint }]) => valueHint !== LIST || argv.includes('--'))
  const isMissing = ([name, { required, type }]: (typeof flags)[number]) => {
    if (!required) return false
    if (type === 'positional') return positionals.findIndex(([positional]) => positional === name) >= words.length
    return !givenOptions.some((option) => option.name === name)
  }
  const faults = [
    ...givenOptions.flatMap((option) => findFault(option, options)),
    ...refused.map(([name]) => `--${name} is given more than once.`),
    ...words.slice(positionals.length).map((word) => `'${word}' is one word too many.`),
    ...Object.entries(args)
      .filter(isMissing)
      .map(([name, { type }]) => `${type === 'positional' ? name.toUpperCase() : `--${name}`} is missing.`),
  ]
  if (faults.length > 0) throw new UsageError(faults.join('\n'))
  const listValues = (name: string) => givenOptions.filter((option) => option.name === name).map(({ value }) => value)
  return [...argv, ...repeated.map(([name]) => `--${name}=${listValues(name).join()}`)]
}

interface GivenOption {
  name: string
  rawName: string
  value: string | undefined
  inlineValue: boolean | undefined
}

function findFault(
  { name, rawName, value, inlineValue }: GivenOption,
  options: Record<string, { type: string }>,
): string[] {
  const option = Object.hasOwn(options, name) ? options[name] : undefined
  if (!option) {
    const nearest = findNearest(name, [...Object.keys(options), 'help'])
    return [`Unknown option '${rawName}'.${nearest ? ` Did you mean '--${nearest}'?` : ''}`]
  }
  if (option.type === 'boolean') return value === undefined ? [] : [`Option '${rawName}' does not take an argument.`]
  // A word that looks like another flag was not meant as the value of this one.
  const isGiven = value !== undefined && (inlineValue || !value.startsWith('-'))
  return isGiven ? [] : [`Option '${rawName} <value>' argument missing.`]
}

/** Earlier versions gave switches a value: `--force=true` and `--force=1` mean `--force`. Other values are refused. */
export const normalizeSwitches = (args: ArgsDef, argv: readonly string[]): string[] =>
  argv.map((word) => {
    const [, name = ''] = /^--([\w-]+)=(?:true|1)$/.exec(word) ?? []
    return args[name]?.type === 'boolean' ? `--${name}` : word
  })
