import type { z } from 'zod'
import type { ModelFlag } from '../catalogue/ai-model-flags.ts'
import type { ToolCapability } from '../catalogue/ai-tool-capabilities.ts'
import type { HealthResult } from '../system/health.ts'
import type { Context, Log } from './context.ts'
import type { DomainEvents, Events, Listener } from './events.ts'
import { inTime } from './timeout.ts'

/** A function that models may call. Its result goes back to the model as JSON. */
export interface FunctionTool<Input extends z.ZodType = z.ZodType> {
  name: string
  description: string
  /** The arguments; what a model sends is parsed with it before `run` sees it. */
  input: Input
  capability?: string
  run(input: z.output<Input>, signal: AbortSignal): unknown
}

/** A block of public configuration; a caller who may not see it gets nothing. */
export interface ConfigBlock {
  key: string
  of(ctx: Context): Record<string, unknown> | undefined | Promise<Record<string, unknown> | undefined>
}

/** What an operator's module exports as `extension`. */
export interface Extension {
  name: string
  listeners?: { [K in keyof DomainEvents]?: Listener<DomainEvents[K]> }
  /** Custom health checks by name; one that throws counts as an error. */
  healthChecks?: Record<string, () => HealthOutcome | Promise<HealthOutcome>>
  configBlocks?: readonly ConfigBlock[]
  tools?: readonly FunctionTool[]
  modelFlags?: readonly ModelFlag[]
  toolCapabilities?: readonly ToolCapability[]
}

type HealthOutcome = Omit<HealthResult, 'name'>

/** What all extensions together add. */
export interface Extensions {
  configBlocks: readonly ConfigBlock[]
  tools: ReadonlyMap<string, FunctionTool>
  modelFlags: readonly ModelFlag[]
  toolCapabilities: readonly ToolCapability[]
}

/** Registers listeners and health checks, and gathers the rest; throws on a tool or block that is there twice. */
export function extend(events: Events, extensions: readonly Extension[], log: Log): Extensions {
  for (const { name: extension, listeners = {}, healthChecks = {} } of extensions) {
    for (const [event, listener] of Object.entries(listeners)) {
      const failed = (error: unknown) => log.error({ extension, event, error }, 'a listener failed')
      // A failing listener of the health check is itself a result, which that check reports.
      const hears = listener as Listener<unknown>
      events.on(event as keyof DomainEvents, event === 'health-check' ? hears : contained(hears, failed))
    }
    for (const [name, check] of Object.entries(healthChecks)) {
      events.on('health-check', async ({ results }) => {
        const failed = (error: unknown) => log.warn({ extension, check: name, error }, 'a health check failed')
        results.set(name, { name, ...(await outcomeOf(check, failed)) })
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

/** A listener that fails stops neither what it hears of nor the process. */
const contained =
  (listener: Listener<unknown>, failed: (error: unknown) => void): Listener<unknown> =>
  (payload) => {
    try {
      const heard = listener(payload)
      return heard instanceof Promise ? heard.catch(failed) : heard
    } catch (error) {
      return failed(error)
    }
  }

/** In milliseconds, and less than all custom checks have together: so the name of the one that hangs is known. */
const PATIENCE = 3000

async function outcomeOf(
  check: () => HealthOutcome | Promise<HealthOutcome>,
  failed: (error: unknown) => void,
): Promise<HealthOutcome> {
  try {
    return await inTime(check(), PATIENCE)
  } catch (error) {
    failed(error)
    return { status: 'error', message: 'The check failed.' }
  }
}

function assertUnique(names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice) throw new Error(`Two extensions declare '${twice}'.`)
}
