import { parseArgs } from 'node:util'
import type { ArgsDef } from 'citty'
import { findNearest } from '../routers/ports/spelling.ts'

/** Shown in the help as the value of a list flag, which takes comma separated values or may be repeated. */
export const LIST = 'A,B'

interface CheckedFlags {
  /** The arguments with repeated list flags joined, and without unknown flags, flags without values and words too many. */
  words: string[]
  faults: string[]
}

/** Checks flags strictly, because citty accepts unknown flags and missing values. */
export function checkFlags(args: ArgsDef, argv: string[]): CheckedFlags {
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
  const optionFaults = givenOptions.map((option) => findFault(option, options))
  const faults = [
    ...optionFaults.flat(),
    ...refused.map(([name]) => `--${name} is given more than once.`),
    ...words.slice(positionals.length).map((word) => `'${word}' is one word too many.`),
    ...Object.entries(args)
      .filter(isMissing)
      .map(([name, { type }]) => `${type === 'positional' ? name.toUpperCase() : `--${name}`} is missing.`),
  ]
  const listValues = (name: string) => givenOptions.filter((option) => option.name === name).map(({ value }) => value)
  const joined = repeated.map(([name]) => `--${name}=${listValues(name).join()}`)
  if (faults.length === 0) return { words: [...argv, ...joined], faults }
  const known = givenOptions.filter((_, at) => optionFaults[at]?.length === 0)
  const given = known.map(({ name, value }) => (value === undefined ? `--${name}` : `--${name}=${value}`))
  return { words: [...given, ...joined, '--', ...words.slice(0, positionals.length)], faults }
}

/** Adds faults, but for those of a flag or word of which one is known. */
export function addFaults(known: readonly string[], found: readonly string[]): string[] {
  const names = new Set(known.map(readFaultyName).filter(Boolean))
  return [...known, ...found.filter((fault) => !names.has(readFaultyName(fault)))]
}

/** Reads the name with which a fault begins, as in `--cap is missing.` or `NAME is missing.`. */
const readFaultyName = (fault: string) =>
  /^(?:(?:Option ')?--([\w-]+)|([A-Z]+)(?= ))/.exec(fault)?.slice(1).join('').toLowerCase()

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
