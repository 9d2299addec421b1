import { existsSync, globSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Debian installs servers outside an ordinary user's PATH. */
const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', ...globSync('/usr/lib/postgresql/*/bin')]

/** Returns where a program is; undefined where this machine has none. */
export function programPath(program: string): string | undefined {
  const paths = program.startsWith('/') ? [program] : folders.map((folder) => join(folder, program))
  return paths.find((path) => existsSync(path))
}

/** The headless shell is a third faster; the full browser works, too. */
const chromium =
  process.env['CHROMIUM_PATH'] ?? (programPath('chromium-headless-shell') ? 'chromium-headless-shell' : 'chromium')

/** Programs that tests need beyond npm: those that prove a part is installed, and the Debian packages that install it. */
const parts = {
  redis: { programs: ['redis-server'], packages: ['redis-server'] },
  chromium: { programs: [chromium], packages: ['chromium-headless-shell'] },
  slapd: { programs: ['slapd', 'ldapsearch'], packages: ['slapd', 'ldap-utils'] },
  haproxy: { programs: ['haproxy'], packages: ['haproxy'] },
  caddy: { programs: ['caddy'], packages: ['caddy'] },
  zsh: { programs: ['zsh'], packages: ['zsh'] },
  systemd: { programs: ['systemd-analyze'], packages: ['systemd'] },
  pgbouncer: { programs: ['pgbouncer'], packages: ['pgbouncer'] },
  postgres: { programs: ['initdb', 'postgres'], packages: ['postgresql'] },
} as const satisfies Record<string, { programs: string[]; packages: string[] }>

export const chromiumPath = programPath(chromium) ?? chromium

export type Part = keyof typeof parts

const isInstalled = (part: Part) => parts[part].programs.every((program) => programPath(program) !== undefined)

/** Returns true if tests of a part must be skipped. In CI a missing part is an error. */
export function isMissing(part: Part): boolean {
  if (isInstalled(part)) return false
  if (process.env['CI']) throw new Error(`${part} is not installed, and in CI nothing is skipped.`)
  return true
}

/** Returns a note about skipped tests for the end of a run. */
export function missingPartsNote(): string | undefined {
  const missing = (Object.keys(parts) as Part[]).filter((part) => !isInstalled(part))
  if (missing.length === 0) return undefined
  const packages = missing.flatMap((part) => parts[part].packages)
  return `Skipped for want of: ${missing.join(', ')} (apt-get install ${packages.join(' ')})`
}
