import type { Context } from '../core/context.ts'
import { objectOf } from '../ports/json-schema.ts'
import type { CallableModel, FunctionTool } from '../ports/models.ts'
import { ToolServerError } from '../ports/tool-servers.ts'

type CallableTool = CallableModel['tools'][number]
type McpTool = CallableTool & { mcp: NonNullable<CallableTool['mcp']> }

/** The tools that a model may call: functions of extensions, and tools of servers. */
export const toolsOf = (ctx: Context, { tools, settings }: CallableModel): FunctionTool[] =>
  (settings?.toolCalling === false ? [] : tools)
    .flatMap((tool) =>
      isOfServer(tool) ? serverTool(ctx, tool) : (ctx.services.extensions.tools.get(tool.name) ?? []),
    )
    .map((tool) => watched(ctx, tool))

const isOfServer = (tool: CallableTool): tool is McpTool => tool.mcp !== null

function serverTool({ services: { toolServers } }: Context, { name, mcp }: McpTool): FunctionTool {
  const { server, definition } = mcp
  return {
    name,
    description: definition.description,
    input: objectOf(definition.inputSchema),
    schema: definition.inputSchema as Record<string, unknown>,
    run: (input, signal) =>
      toolServers.call(server, { name: mcp.name, input: input as Record<string, unknown> }, signal),
  }
}

const watched = (ctx: Context, tool: FunctionTool): FunctionTool => ({
  ...tool,
  async run(input, signal) {
    try {
      return await tool.run(input, signal)
    } catch (error) {
      return failed(ctx, tool, error)
    }
  },
})

/** A tool that fails is named in the log, without a word of what it was given; a model is told what we know of the reason. */
function failed({ services: { log }, requestId }: Context, { name: tool }: FunctionTool, error: unknown) {
  const isKnown = error instanceof ToolServerError
  const kind = error instanceof Error ? error.name : typeof error
  log.warn({ requestId, tool, error: isKnown ? error.message : kind }, 'a tool failed')
  if (isKnown) return { error: `The tool server failed: ${error.message}.` }
  throw error
}
