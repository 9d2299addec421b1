import { z } from 'zod'
import type { StreamPart } from '../../ai/types.ts'
import type { AskedMessage } from '../chat/messages.ts'

type PartOf<Type extends StreamPart['type']> = Extract<StreamPart, { type: Type }>

const REQUEST = 'mcpr_'

const call = { id: z.string(), name: z.string(), arguments: z.string(), server_label: z.string() }

/** What a client sends back of questions and of calls that it was answered with, and what the person says. */
export const approvalItems = [
  z.strictObject({ type: z.literal('mcp_approval_request'), ...call }),
  z.strictObject({
    type: z.literal('mcp_approval_response'),
    id: z.string().nullish(),
    approval_request_id: z.string(),
    approve: z.boolean(),
    reason: z.string().nullish(),
  }),
  z.strictObject({
    type: z.literal('mcp_call'),
    ...call,
    approval_request_id: z.string().nullish(),
    output: z.string().nullish(),
    error: z.looseObject({ content: z.unknown().optional() }).nullish(),
    status: z.string().nullish(),
  }),
] as const
export type ApprovalItem = z.output<(typeof approvalItems)[number]>
type McpCallItem = Extract<ApprovalItem, { type: 'mcp_call' }>

/** A question, the answer of the person, or what came of the call, as messages: the call has the id of the question. */
export function messagesOfApproval(item: ApprovalItem): AskedMessage[] {
  switch (item.type) {
    case 'mcp_approval_request':
      return [calling(callOf(item.id), item)]
    case 'mcp_approval_response': {
      const { approval_request_id: question, approve: allow, reason } = item
      const said = { type: 'tool-approval' as const, id: callOf(question), allow, ...(reason && { reason }) }
      return [{ role: 'tool', content: [said] }]
    }
    case 'mcp_call':
      return ranMessages(item)
  }
}

function ranMessages({ id: own, approval_request_id: question, output, error, ...call }: McpCallItem): AskedMessage[] {
  const id = question ? callOf(question) : own
  const told = error ? toldIn(error) : output
  const content = told ? [{ type: 'text' as const, text: told }] : []
  const isError = error !== null && error !== undefined
  const result = { type: 'tool-result' as const, id, name: call.name, content, isError }
  // Where nobody was asked, no other item tells of the call.
  return [...(question ? [] : [calling(id, call)]), { role: 'tool', content: [result] }]
}

const calling = (id: string, { name, arguments: input }: { name: string; arguments: string }): AskedMessage => ({
  role: 'assistant',
  content: [{ type: 'tool-call', id, name, input }],
})

const toldIn = ({ content, ...error }: object & { content?: unknown }): string =>
  typeof content === 'string' ? content : JSON.stringify({ content, ...error })

const callOf = (question: string): string => (question.startsWith(REQUEST) ? question.slice(REQUEST.length) : question)

export const approvalRequestItem = ({ id, tool, server, input }: PartOf<'approval'>) => ({
  id: `${REQUEST}${id}`,
  type: 'mcp_approval_request',
  name: tool,
  arguments: JSON.stringify(input),
  server_label: server,
})

/** A call of a tool that runs. */
export const begunCallItem = (itemId: string, { id, tool, server, input }: Omit<PartOf<'tool-start'>, 'type'>) => ({
  id: itemId,
  type: 'mcp_call',
  approval_request_id: `${REQUEST}${id}`,
  name: tool,
  arguments: JSON.stringify(input),
  server_label: server,
  status: 'in_progress',
})

export const mcpCallItem = (itemId: string, { output, isError, ...run }: PartOf<'tool-run'>) => ({
  ...begunCallItem(itemId, run),
  status: isError ? 'failed' : 'completed',
  output: isError ? null : output,
  error: isError ? { type: 'mcp_tool_execution_error', content: output } : null,
})
