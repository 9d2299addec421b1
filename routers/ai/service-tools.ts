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
import { selectedNative, selectedTools } from './request/tool-references.ts'

type CallableTool = CallableModel['tools'][number]
type McpTool = CallableTool & { mcp: NonNullable<CallableTool['mcp']> }

interface Offering {
  model: CallableModel
  asked: AiRequest
  approvals: Approvals
}

/** What the service runs for the model. Where the caller says which tools the model is to call, these are none of them. */
export const ownTools = (ctx: Context, offering: Offering): FunctionTool[] =>
  (offering.asked.toolChoice ?? 'auto') === 'auto' ? selectedOwnTools(ctx, offering) : []

/** The same, whatever the caller says of the tools that the model is to call. */
export function selectedOwnTools(ctx: Context, { model, asked, approvals }: Offering): FunctionTool[] {
  const { tools, modelTools } = asked
  const taken = new Set<string>([...tools.map(({ name }) => name), ...selectedNative(model, asked)])
  const selected = { ...model, tools: selectedTools(model, modelTools) }
  return listTools(ctx, selected, approvals).filter(({ name }) => !taken.has(name))
}

/** The tools that a model may call: functions of extensions, and tools of servers. */
const listTools = (ctx: Context, { tools, settings }: CallableModel, approvals: Approvals): FunctionTool[] =>
  (settings?.toolCalling === false ? [] : tools)
    .flatMap((tool) => (isOfServer(tool) ? serverTool(ctx, tool, approvals) : extensionTool(ctx, tool)))
    .map((tool) => watched(ctx, tool))

const isOfServer = (tool: CallableTool): tool is McpTool => tool.mcp !== null

function extensionTool(ctx: Context, { name }: CallableTool): FunctionTool[] {
  const tool = ctx.services.extensions.tools.get(name)
  return tool ? [boundedTool(ctx, tool)] : []
}

function serverTool(
  { services: { toolServers } }: Context,
  { name, mcp }: McpTool,
  approvals: Approvals,
): FunctionTool {
  const { server, definition } = mcp
  const needsApproval = server.requireApproval !== 'never'
  approvals.isNeeded ||= needsApproval
  const asked = (input: unknown) => ({ tool: name, server: server.label, input, hash: hashDefinition(mcp) })
  return {
    name,
    description: definition.description,
    // Made where the tool is called, as most calls of a model call none.
    input: z.lazy(() => toObjectSchema(definition.inputSchema)),
    schema: definition.inputSchema as Record<string, unknown>,
    ...(needsApproval && {
      approval: {
        server: server.label,
        runOnce: (input, question, call) => approvals.runOnce(asked(input), question, call),
        question: (input) => approvals.questionOf(asked(input)),
      },
    }),
    async run(given, signal, begin) {
      const input = given as Record<string, unknown>
      const refusal = needsApproval ? await approvals.refusalOf(asked(input), signal) : undefined
      if (refusal) return new ToolFailure(refusal)
      begin?.()
      return toolServers.call(server, { name: mcp.name, input, person: approvals.person }, signal)
    },
  }
}

const hashDefinition = ({ name, definition, server: { id, url } }: McpTool['mcp']) =>
  createHash('sha256')
    .update(JSON.stringify([id, url, name, definition]))
    .digest('hex')

const watched = (ctx: Context, tool: FunctionTool): FunctionTool => ({
  ...tool,
  async run(input, signal, begin) {
    try {
      return await tool.run(input, signal, begin)
    } catch (error) {
      return failed(ctx, tool, error)
    }
  },
})

/** A tool that fails is named in the log, without a word of what it was given; a model is told what we know of the reason. */
function failed({ services: { log }, requestId }: Context, { name: tool }: FunctionTool, error: unknown) {
  const isOfServer = error instanceof ToolServerError
  const isKnown = isOfServer || error instanceof FunctionError
  const kind = error instanceof Error ? error.name : typeof error
  log.warn({ requestId, tool, reason: isKnown ? error.message : kind }, 'a tool failed')
  if (!isKnown) throw error
  return new ToolFailure(`The tool${isOfServer ? ' server' : ''} failed: ${error.message}.`)
}

/** Why a function of an extension came to nothing, in our words. */
class FunctionError extends Error {
  override name = 'FunctionError'
}

/** A function of an extension, which may take as long and tell a model as much as a tool of a server. Throws `FunctionError`. */
const boundedTool = ({ services: { settings } }: Context, tool: FunctionTool): FunctionTool => ({
  ...tool,
  async run(input, signal, begin) {
    const { timeout, maxResult } = settings.tools
    using limit = createTimeLimit(timeout, signal)
    const work = async () => tool.run(input, limit.signal, begin)
    const told = await runUntilAborted(work, limit.signal).catch((error: unknown) => {
      throw limit.signal.aborted && !signal.aborted ? new FunctionError('it did not answer in time') : error
    })
    const isError = told instanceof ToolFailure
    const text = toResultText(isError ? told.error : told)
    const bytes = Buffer.byteLength(text)
    if (bytes > maxResult) throw new FunctionError(`its result is ${bytes} bytes, of which ${maxResult} are taken`)
    return isError ? new ToolFailure(text) : text
  },
})
