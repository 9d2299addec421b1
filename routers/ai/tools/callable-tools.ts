import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { type CallableToolRow, listCallableTools } from '../../../entities/catalogue/ai-tool.sql.ts'
import type { DeepReadonly } from '../../../entities/sql/read-only.ts'
import { findCallableTool } from '../../../entities/views/called-tool.sql.ts'
import type { Context } from '../../core/context.ts'
import { maxEntries } from '../../core/load/cache-size.ts'
import { toJsonSchema, toObjectSchema } from '../../ports/ai/json-schema.ts'
import { parseToolPrice, type ToolCost } from '../../ports/ai/tool-price.ts'
import type { FunctionTool, JsonSchema } from '../../ports/ai/tools.ts'
import { listUsableGroups } from '../../verbs/viewer.ts'
import type { ChatContext } from '../chat-context.ts'
import { isToolForGroups, isToolForProgram } from './tool-access.ts'

type ToolRow = DeepReadonly<CallableToolRow>

/** A tool that a person may call now, as it was approved. */
export interface CallableTool {
  id: number
  /** The unique name by which models and programs call it. */
  name: string
  title?: string
  description: string
  /** The JSON schema of the structured content of its results. */
  outputSchema?: JsonSchema
  /** Its server claims these of it, such as `readOnlyHint`. */
  annotations?: Readonly<Record<string, boolean>>
  /** The JSON schema of its arguments. */
  inputSchema: JsonSchema
  /** The same schema, with which arguments are checked; it is built when it is first used. */
  input: z.ZodType
  /** Its calls go to a tool of a tool server, or to a function of an extension. */
  target: { server: NonNullable<ToolRow['mcp']> } | { function: FunctionTool }
  /** True if the person must approve each call. */
  needsApproval: boolean
  /** Null if a call costs nothing. */
  cost: ToolCost | null
  /** With `page`, no program may give the approval in the person's place. */
  approval: 'never' | 'always' | 'page'
}

/** Returns the tools that programs of the caller may call, in the order of their names. */
export async function listToolsForCaller(ctx: ChatContext): Promise<CallableTool[]> {
  const rows = await ctx.services.sql(listCallableTools)
  return rows.flatMap(({ tool }) => toToolOfPrograms(ctx, tool) ?? [])
}

/** Finds a tool that programs of the caller may call. One that is closed to the caller counts as missing. */
export async function findToolForCaller(ctx: ChatContext, name: string): Promise<CallableTool | undefined> {
  const [row] = await ctx.services.sql(findCallableTool, [name])
  if (!row) return undefined
  ctx.services.ai.toolLimits.noteVersion(row.limitVersion)
  return toToolOfPrograms(ctx, row.tool)
}

/** Returns undefined for a tool, prompt or resource that is closed to programs of the caller. */
export function toToolOfPrograms(ctx: ChatContext, tool: ToolRow): CallableTool | undefined {
  const { caller } = ctx
  const isOpen = isToolForProgram(tool, caller.token?.grant) && isToolForGroups(tool, listUsableGroups(caller))
  return isOpen ? toCallableTool(ctx, tool) : undefined
}

/** Returns undefined for a function whose extension is not loaded. */
export function toCallableTool({ services }: Context, { id, name, mcp }: ToolRow): CallableTool | undefined {
  if (mcp) {
    const { description, inputSchema, title, outputSchema, annotations } = mcp.definition
    const approval = toApproval(mcp.server)
    return {
      id,
      name,
      description,
      inputSchema,
      get input() {
        return findObjectSchema(inputSchema as Record<string, unknown>)
      },
      ...(title && { title }),
      ...(outputSchema && { outputSchema }),
      ...(annotations && { annotations }),
      target: { server: mcp },
      needsApproval: approval !== 'never',
      cost: parseToolPrice(mcp.server.pricePerCall),
      approval,
    }
  }
  const tool = services.process.extensions.tools.get(name)
  if (!tool) return undefined
  const { description, input } = tool
  return {
    id,
    name,
    description,
    input,
    get inputSchema() {
      return toJsonSchema(tool)
    },
    target: { function: tool },
    needsApproval: false,
    cost: null,
    approval: 'never',
  }
}

/** Asks wherever the server does not say that nobody need be asked. */
function toApproval({ requireApproval }: NonNullable<ToolRow['mcp']>['server']): CallableTool['approval'] {
  if (requireApproval === 'never') return 'never'
  return requireApproval === 'page' ? 'page' : 'always'
}

/** The label of the tool's server; empty for a function of an extension. */
export const getServerLabel = ({ target }: CallableTool): string =>
  'server' in target ? target.server.server.label : ''

/** Hash of the tool's server and definition, so that an approval ends with a change of either. */
export function hashDefinition({ target, name: own }: CallableTool): string {
  if (!('server' in target)) return own
  const { name, definition, server } = target.server
  return createHash('sha256')
    .update(JSON.stringify([server.id, server.url, name, definition]))
    .digest('hex')
}

/** The rows of a model are kept for many calls. */
const lazySchemas = new WeakMap<object, z.ZodType>()

/** Built schemas by their text, as each call of a program reads the row of its tool. Building takes longer than a check. */
const builtSchemas = new LRUCache<string, z.ZodType>(maxEntries(200))

/** Builds the schema lazily, because most calls use no tool. */
function findObjectSchema(schema: Record<string, unknown>): z.ZodType {
  const known = lazySchemas.get(schema)
  if (known) return known
  const input = z.lazy(() => buildObjectSchema(schema))
  lazySchemas.set(schema, input)
  return input
}

function buildObjectSchema(schema: Record<string, unknown>): z.ZodType {
  const text = JSON.stringify(schema)
  const known = builtSchemas.get(text)
  if (known) return known
  const built = toObjectSchema(schema)
  builtSchemas.set(text, built)
  return built
}
