import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import type { z } from 'zod'
import { isGeneric } from '../../routers/core/issues.ts'
import type { SettingValue } from '../../routers/core/settings.ts'
import { findNearest } from '../../routers/ports/spelling.ts'
import { describeSettings, type Env, settings } from './settings.ts'

/** Reads and validates the settings from the environment and a `.env` file in the current folder; throws one error that lists all problems. */
export function readEnv(source?: NodeJS.ProcessEnv): Env {
  const { values, problems } = source ? { values: source, problems: [] } : readProcessEnv()
  const present = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
  const parsed = settings.safeParse(present)
  if (!parsed.success) throw new SettingsError([...problems, ...formatIssues(parsed.error.issues, present)])
  if (problems.length > 0) throw new SettingsError(problems)
  return { ...parsed.data, variables: present }
}

class SettingsError extends Error {
  override name = 'SettingsError'

  constructor(problems: readonly string[]) {
    super(`The settings are not valid.\n${problems.map((problem) => `  ${problem}`).join('\n')}`)
  }
}

/** Lists all settings with their current values, valid or not; secrets are masked. */
export function listCurrentSettings(source = readProcessEnv().values): SettingValue[] {
  return describeSettings().map(({ meaning, priority: _, ...row }) => {
    const set = source[row.name]
    return { ...row, value: set && row.secret ? '********' : set || row.default, isSet: Boolean(set), meaning }
  })
}

/** Adds the variables of `.env` to the environment of this process; returns all variables and the problems of the file. */
export function readProcessEnv(): { values: NodeJS.ProcessEnv; problems: string[] } {
  const { added, problems } = readDotEnv()
  for (const [name, value] of Object.entries(added)) process.env[name] ??= value
  return { values: process.env, problems }
}

function readDotEnv(): { added: NodeJS.Dict<string>; problems: string[] } {
  try {
    const added = parseEnv(readFileSync('.env', 'utf8'))
    const names = describeSettings().map((setting) => setting.name)
    return { added, problems: Object.keys(added).flatMap((name) => findMisspelling(name, names)) }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    return { added: {}, problems: code === 'ENOENT' ? [] : [`The file .env cannot be read: ${message}`] }
  }
}

/** Reports only names that resemble a setting, since other programs may read the same file. */
function findMisspelling(name: string, names: readonly string[]): string[] {
  const meant = names.includes(name) ? undefined : findNearest(name, names)
  return meant ? [`${name} in .env is no setting. Did you mean ${meant}?`] : []
}

/** Formats problems with the settings' names and, unless they are secrets, their values. */
function formatIssues(issues: readonly z.core.$ZodIssue[], values: NodeJS.Dict<string>): string[] {
  const secrets = new Set(describeSettings().flatMap(({ name, secret }) => (secret ? [name] : [])))
  return issues.map((issue) => {
    const name = String(issue.path[0])
    const value = values[name] === undefined || secrets.has(name) ? '' : `=${formatValue(values[name])}`
    return `${name}${value}: ${formatMessage(issue)}`
  })
}

const formatValue = (value: string) =>
  (value.length > 80 ? `${value.slice(0, 80)}…` : value).replace(/[^\P{C}…]/gu, '?')

const kinds: Record<string, string> = { number: 'a number', int: 'a whole number', string: 'a text' }

/** Formats the message of a problem. For a union it is the first specific message of its alternatives. */
function formatMessage(issue: z.core.$ZodIssue): string {
  if (!isGeneric(issue)) return issue.message
  if (issue.code === 'invalid_union')
    return issue.errors.flat().find((inner) => !isGeneric(inner))?.message ?? 'is not valid'
  if (issue.code === 'invalid_type') return `must be ${kinds[issue.expected] ?? issue.expected}`
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.join(', ')}`
  if (issue.code === 'too_small') return `must be at least ${issue.minimum}${formatUnit(issue.origin)}`
  if (issue.code === 'too_big') return `must be at most ${issue.maximum}${formatUnit(issue.origin)}`
  return issue.message
}

const formatUnit = (origin: string) => (origin === 'string' ? ' characters long' : '')
