import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Context } from '../core/context.ts'
import { createTimeLimit, runUntilAborted } from '../core/timeout.ts'
import { toObjectSchema } from '../ports/ai/json-schema.ts'
import type { CallableModel } from '../ports/ai/models.ts'
import { toResultText } from '../ports/ai/tool-calls.ts'
import { ToolFailure, ToolServerError } from '../ports/ai/tool-servers.ts'
import type { FunctionTool } from '../ports/ai/tools.ts'
import type { Approvals } from './approvals/approvals.ts'
import type { AiRequest } from './request/request.ts'
import type { SelectedTools } from './request/tool-references.ts'

type CallableTool = CallableModel['tools'][number]
type McpTool = CallableTool & { mcp: NonNullable<CallableTool['mcp']> }

interface ToolOptions {
  model: CallableModel
  request: AiRequest
  selected: SelectedTools
  approvals: Approvals
}

/** Returns the tools that the service runs for the model; none if the caller forces a tool choice. */
export const listServiceTools = (ctx: Context, options: ToolOptions): FunctionTool[] =>
  (options.request.toolChoice ?? 'auto') === 'auto' ? listSelectedServiceTools(ctx, options) : []

/** Returns the selected tools of the service, whatever the tool choice. */
export function listSelectedServiceTools(
  ctx: Context,
  { model, request, selected, approvals }: ToolOptions,
): FunctionTool[] {
  const takenNames = new Set<string>([...request.tools.map(({ name }) => name), ...selected.nativeTools])
  const tools = model.settings?.toolCalling === false ? [] : selected.tools
  return listTools(ctx, tools, approvals).filter(({ name }) => !takenNames.has(name))
}

/** Builds the tools of a model: functions of extensions, and tools of MCP servers. */
const listTools = (ctx: Context, tools: readonly CallableTool[], approvals: Approvals): FunctionTool[] =>
  tools
    .flatMap((tool) => (isServerTool(tool) ? toServerTool(ctx, tool, approvals) : findExtensionTool(ctx, tool)))
    .map((tool) => withFailureLog(ctx, tool))

const isServerTool = (tool: CallableTool): tool is McpTool => tool.mcp !== null

function findExtensionTool(ctx: Context, { name }: CallableTool): FunctionTool[] {
  const tool = ctx.services.process.extensions.tools.get(name)
  return tool ? [withLimits(ctx, tool)] : []
}

function toServerTool({ services }: Context, { name, mcp }: McpTool, approvals: Approvals): FunctionTool {
  const { server, definition } = mcp
  const needsApproval = server.requireApproval !== 'never'
  approvals.needsApproval ||= needsApproval
  const toGuardedCall = (input: unknown) => ({ tool: name, server: server.label, input, hash: hashDefinition(mcp) })
  return {
    name,
    description: definition.description,
    // Built lazily, because most calls use no tool.
    input: z.lazy(() => toObjectSchema(definition.inputSchema)),
    schema: definition.inputSchema as Record<string, unknown>,
    ...(needsApproval && {
      approval: {
        server: server.label,
        runOnce: (input, question, call) => approvals.runOnce(toGuardedCall(input), question, call),
        question: (input) => approvals.createQuestion(toGuardedCall(input)),
      },
    }),
    async run(toolInput, signal, begin) {
      const input = toolInput as Record<string, unknown>
      const refusal = needsApproval ? await approvals.findRefusal(toGuardedCall(input), signal) : undefined
      if (refusal) return new ToolFailure(refusal)
      begin?.()
      return services.ai.toolServers.call(server, { name: mcp.name, input, person: approvals.person }, signal)
    },
  }
}

const hashDefinition = ({ name, definition, server: { id, url } }: McpTool['mcp']) =>
  createHash('sha256')
    .update(JSON.stringify([id, url, name, definition]))
    .digest('hex')

const withFailureLog = (ctx: Context, tool: FunctionTool): FunctionTool => ({
  ...tool,
  async run(input, signal, begin) {
    try {
      return await tool.run(input, signal, begin)
    } catch (error) {
      return toToolFailure(ctx, tool, error)
    }
  },
})

/** Logs the failed tool without its input. The model receives the reason if it is one of our own messages. */
function toToolFailure({ services: { log }, requestId }: Context, { name: tool }: FunctionTool, error: unknown) {
  const isServerError = error instanceof ToolServerError
  const isKnown = isServerError || error instanceof FunctionError
  const kind = error instanceof Error ? error.name : typeof error
  log.warn({ requestId, tool, reason: isKnown ? error.message : kind }, 'a tool failed')
  if (!isKnown) throw error
  return new ToolFailure(`The tool${isServerError ? ' server' : ''} failed: ${error.message}.`)
}

/** Failure of an extension's function, with a message of our own. */
class FunctionError extends Error {
  override name = 'FunctionError'
}

/** Applies the time and size limits of server tools to a function of an extension. Throws `FunctionError`. */
const withLimits = ({ services: { settings } }: Context, tool: FunctionTool): FunctionTool => ({
  ...tool,
  async run(input, signal, begin) {
    const { timeout, maxResult } = settings.tools
    using limit = createTimeLimit(timeout, signal)
    const work = async () => tool.run(input, limit.signal, begin)
    const result = await runUntilAborted(work, limit.signal).catch((error: unknown) => {
      throw limit.signal.aborted && !signal.aborted ? new FunctionError('it did not answer in time') : error
    })
    const isError = result instanceof ToolFailure
    const text = toResultText(isError ? result.error : result)
    const bytes = Buffer.byteLength(text)
    if (bytes > maxResult) throw new FunctionError(`its result is ${bytes} bytes, of which ${maxResult} are taken`)
    return isError ? new ToolFailure(text) : text
  },
})
