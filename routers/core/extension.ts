import type { UsageType } from '../../entities/sql/columns.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { FunctionTool } from '../ports/ai/tools.ts'
import type { HealthResult } from '../ports/health.ts'
import type { Log } from '../ports/log.ts'
import type { Caller } from './caller.ts'
import type { HookRegistry, Hooks, Listener } from './hooks.ts'
import type { Settings } from './settings.ts'
import { withTimeout } from './timeout.ts'

export type { FunctionTool }

/** Data that a block of public configuration may use. */
export interface BlockContext {
  readonly caller: Caller
  readonly usage: UsageType
  readonly locale: string
  readonly settings: Settings
  readonly sql: Sql
}

/** A block of public configuration; a caller who may not see it gets nothing. */
export interface ConfigBlock {
  key: string
  of(ctx: BlockContext): Record<string, unknown> | undefined | Promise<Record<string, unknown> | undefined>
}

/** A flag of the registry: built in, or of an extension. */
export interface ModelFlag {
  key: string
  titleLabel: string | null
  descriptionLabel: string | null
  colorCode: string
}

/** A capability of the registry: built in, or of an extension. */
export interface ToolCapability {
  key: string
  titleLabel: string | null
  descriptionLabel: string | null
  iconPath: string | null
}

/** An operator's module exports this as `extension`. */
export interface Extension {
  name: string
  listeners?: { [K in keyof Hooks]?: Listener<Hooks[K]> }
  /** Custom health checks by name; one that throws counts as an error. */
  healthChecks?: Record<string, () => HealthOutcome | Promise<HealthOutcome>>
  configBlocks?: readonly ConfigBlock[]
  tools?: readonly FunctionTool[]
  modelFlags?: readonly ModelFlag[]
  toolCapabilities?: readonly ToolCapability[]
}

type HealthOutcome = Omit<HealthResult, 'name'>

/** The combined contributions of all extensions. */
export interface Extensions {
  configBlocks: readonly ConfigBlock[]
  tools: ReadonlyMap<string, FunctionTool>
  modelFlags: readonly ModelFlag[]
  toolCapabilities: readonly ToolCapability[]
}

/** Registers listeners and health checks, and gathers the rest; throws on a tool or block that is declared twice. */
export function extend(hooks: HookRegistry, extensions: readonly Extension[], log: Log): Extensions {
  for (const { name: extension, listeners = {}, healthChecks = {} } of extensions) {
    for (const [event, listener] of Object.entries(listeners)) {
      const onFailure = (error: unknown) => log.error({ extension, event, error }, 'a listener failed')
      // A failing listener of the health check is a result that the check itself reports.
      const eventListener = listener as Listener<unknown>
      hooks.on(
        event as keyof Hooks,
        event === 'health-check' ? eventListener : catchListenerErrors(eventListener, onFailure),
      )
    }
    for (const [name, check] of Object.entries(healthChecks)) {
      hooks.on('health-check', async ({ results }) => {
        const onFailure = (error: unknown) => log.warn({ extension, check: name, error }, 'a health check failed')
        results.set(name, { name, ...(await runHealthCheck(check, onFailure)) })
      })
    }
  }
  const tools = extensions.flatMap((extension) => extension.tools ?? [])
  const configBlocks = extensions.flatMap((extension) => extension.configBlocks ?? [])
  const modelFlags = extensions.flatMap((extension) => extension.modelFlags ?? [])
  const toolCapabilities = extensions.flatMap((extension) => extension.toolCapabilities ?? [])
  assertUnique(tools.map(({ name }) => name))
  for (const registry of [configBlocks, modelFlags, toolCapabilities]) assertUnique(registry.map(({ key }) => key))
  return { configBlocks, modelFlags, toolCapabilities, tools: new Map(tools.map((tool) => [tool.name, tool])) }
}

/** Catches errors of a listener, so that they stop neither the event nor the process. */
const catchListenerErrors =
  (listener: Listener<unknown>, onFailure: (error: unknown) => void): Listener<unknown> =>
  (payload) => {
    try {
      const result = listener(payload)
      return result instanceof Promise ? result.catch(onFailure) : result
    } catch (error) {
      return onFailure(error)
    }
  }

/** Milliseconds; less than the limit for all custom checks together, so that a hanging check is named. */
const CHECK_TIMEOUT_MS = 3000

async function runHealthCheck(
  check: () => HealthOutcome | Promise<HealthOutcome>,
  onFailure: (error: unknown) => void,
): Promise<HealthOutcome> {
  try {
    return await withTimeout(check(), CHECK_TIMEOUT_MS)
  } catch (error) {
    onFailure(error)
    return { status: 'error', message: 'The check failed.' }
  }
}

function assertUnique(names: readonly string[]): void {
  const duplicate = names.find((name, index) => names.indexOf(name) !== index)
  if (duplicate) throw new Error(`Two extensions declare '${duplicate}'.`)
}
