import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'

type Environment = Record<string, string | number>

/** A service of `compose.yaml`: the parts that matter to a process and to operators. */
export interface ComposeService {
  environment: Environment
  command?: string[]
  env_file?: string
  volumes?: string[]
  networks?: string[]
  ports?: string[]
  user?: string
  read_only?: boolean
  cap_drop?: string[]
  security_opt?: string[]
  stop_grace_period?: string
  healthcheck?: Record<string, unknown>
  mem_limit?: string
  cpus?: string | number
  pids_limit?: number
  ulimits?: { nofile: number }
}

export interface Compose {
  services: Record<'svc' | 'svc-2' | 'caddy' | 'postgres' | 'valkey', ComposeService>
  networks: Record<string, { internal?: boolean }>
}

const root = new URL('../../../', import.meta.url)

export const readCompose = async (): Promise<Compose> =>
  parse(await readFile(new URL('compose.yaml', root), 'utf8'), { merge: true })

/** A text with the values of its variables, as Docker puts them in: `${NAME}`, `${NAME:-default}`, `${NAME:?what to do}`. */
export function substituteVariables(text: string, values: NodeJS.Dict<string>): string {
  return text.replace(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, kind = '', rest = '') => {
    const value = values[name] ?? ''
    if (!value && kind === '?') throw new Error(`${name}: ${rest}`)
    return value || (kind === '-' ? rest : '')
  })
}

/** The environment of a service's container. */
export function readEnvironment({ environment, env_file }: ComposeService, dotEnv: NodeJS.Dict<string>) {
  const entries = Object.entries(environment).map(
    ([name, value]) => [name, substituteVariables(`${value}`, dotEnv)] as const,
  )
  return { ...(env_file && dotEnv), ...Object.fromEntries(entries) } as Record<string, string>
}

/** Reads the image's arguments of `node` that start the service. */
export async function readImageArguments(): Promise<string[]> {
  const dockerfile = await readFile(new URL('server/Dockerfile', root), 'utf8')
  const [, ...args] = JSON.parse(/^CMD (.*)$/m.exec(dockerfile)?.[1] ?? '[]') as string[]
  return args
}
