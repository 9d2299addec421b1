import type { AnswerKnowledge } from '../assistants/knowledge/answer-knowledge.ts'
import { toModelResult } from '../ports/ai/model-result.ts'
import type { CallableModel } from '../ports/ai/models.ts'
import { ToolFailure } from '../ports/ai/tool-servers.ts'
import type { FunctionTool } from '../ports/ai/tools.ts'
import type { Approvals } from './approvals/approvals.ts'
import type { ChatContext } from './chat-context.ts'
import type { AiRequest } from './request/request.ts'
import type { SelectedTools } from './request/tool-references.ts'
import { type CallableTool, getServerLabel, toCallableTool } from './tools/callable-tools.ts'
import { callCheckedTool, recordInvalidCall, toApprovableCall } from './tools/guarded-call.ts'

interface ToolOptions {
  model: CallableModel
  request: AiRequest
  selected: SelectedTools
  approvals: Approvals
  /** The knowledge of the assistant, whose tools the model may call, too. */
  knowledge?: AnswerKnowledge | undefined
}

/** Returns the tools that the service runs for the model; none if the caller forces a tool choice. */
export const listServiceTools = (ctx: ChatContext, options: ToolOptions): FunctionTool[] =>
  (options.request.toolChoice ?? 'auto') === 'auto'
    ? [...listKnowledgeTools(options), ...listSelectedServiceTools(ctx, options)]
    : []

/** Returns the tools of the knowledge. One whose name the caller has taken gets another one. */
function listKnowledgeTools({ knowledge, request, model }: ToolOptions): FunctionTool[] {
  if (model.settings?.toolCalling === false) return []
  const taken = new Set(request.tools.map(({ name }) => name))
  return (knowledge?.tools ?? []).map((tool) =>
    taken.has(tool.name) ? { ...tool, name: `assistant_${tool.name}` } : tool,
  )
}

/** Returns the selected tools of the service, whatever the tool choice. */
export function listSelectedServiceTools(ctx: ChatContext, options: ToolOptions): FunctionTool[] {
  const { model, request, selected, approvals } = options
  const own = [...request.tools, ...listKnowledgeTools(options)]
  const takenNames = new Set<string>([...own.map(({ name }) => name), ...selected.nativeTools])
  const tools = model.settings?.toolCalling === false ? [] : selected.tools
  return tools
    .filter(({ name }) => !takenNames.has(name))
    .flatMap((row) => toCallableTool(ctx, row) ?? [])
    .map((tool) => toFunctionTool(ctx, tool, approvals))
}

/** Builds the function that a model calls. */
function toFunctionTool(ctx: ChatContext, tool: CallableTool, approvals: Approvals): FunctionTool {
  const { name, description, input, needsApproval } = tool
  const { site } = approvals
  approvals.needsApproval ||= needsApproval
  const approval = {
    server: getServerLabel(tool),
    runOnce: (input, question, call) => approvals.runOnce(toApprovableCall(tool, input), question, call),
    question: (input) => approvals.createQuestion(toApprovableCall(tool, input)),
  } satisfies FunctionTool['approval']
  return {
    name,
    description,
    input,
    schema: tool.inputSchema,
    ...(needsApproval && { approval }),
    noteInvalid: () => recordInvalidCall(ctx, tool, site),
    async run(input, signal, begin) {
      const outcome = await callCheckedTool(ctx, tool, input, {
        ...site,
        signal,
        asks: approvals,
        begin,
        take: toModelResult,
      })
      if ('refusal' in outcome) return new ToolFailure(outcome.refusal)
      return outcome.isError ? new ToolFailure(outcome.taken) : outcome.taken
    },
  }
}
