import { existsSync, globSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** What tests talk to beyond what npm brings: the program that shows it is there, and the Debian packages that bring it. */
const parts = {
  redis: { programs: ['redis-server'], packages: ['redis-server'] },
  chromium: { programs: [process.env['CHROMIUM_PATH'] ?? 'chromium'], packages: ['chromium'] },
  slapd: { programs: ['slapd', 'ldapsearch'], packages: ['slapd', 'ldap-utils'] },
  haproxy: { programs: ['haproxy'], packages: ['haproxy'] },
  caddy: { programs: ['caddy'], packages: ['caddy'] },
  zsh: { programs: ['zsh'], packages: ['zsh'] },
  postgres: { programs: ['initdb', 'postgres'], packages: ['postgresql'] },
} as const satisfies Record<string, { programs: string[]; packages: string[] }>

export type Part = keyof typeof parts

/** Debian keeps servers where an ordinary user's path does not lead. */
const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', ...globSync('/usr/lib/postgresql/*/bin')]

/** Where a program is; undefined where this machine has none. */
export const programPath = (program: string): string | undefined =>
  program.startsWith('/') ? found(program) : folders.map((folder) => found(join(folder, program))).find(Boolean)

const found = (path: string) => (existsSync(path) ? path : undefined)

const isThere = (part: Part) => parts[part].programs.every((program) => programPath(program) !== undefined)

/** Whether tests that need a part must be skipped. In CI nothing is skipped: there a missing part is an error. */
export function isMissing(part: Part): boolean {
  if (isThere(part)) return false
  if (process.env['CI']) throw new Error(`${part} is not installed, and in CI nothing is skipped.`)
  return true
}

/** What a person should know at the end of a run that could not test everything. */
export function missingPartsNote(): string | undefined {
  const missing = (Object.keys(parts) as Part[]).filter((part) => !isThere(part))
  if (missing.length === 0) return undefined
  const packages = missing.flatMap((part) => parts[part].packages)
  return `Skipped for want of: ${missing.join(', ')} (apt-get install ${packages.join(' ')})`
}
