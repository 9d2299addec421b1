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
    approval_request_id: z.string(),
    output: z.string().nullish(),
    error: z.looseObject({ content: z.unknown().optional() }).nullish(),
    status: z.string().nullish(),
  }),
] as const
export type ApprovalItem = z.output<(typeof approvalItems)[number]>

/** A question, the word of the person, or what came of the call, as a message: the call has the id of the question. */
export function messageOfApproval(item: ApprovalItem): AskedMessage {
  switch (item.type) {
    case 'mcp_approval_request': {
      const { name, arguments: input } = item
      return { role: 'assistant', content: [{ type: 'tool-call', id: callOf(item.id), name, input }] }
    }
    case 'mcp_approval_response': {
      const { approval_request_id: question, approve: allow, reason } = item
      return {
        role: 'tool',
        content: [{ type: 'tool-approval', id: callOf(question), allow, ...(reason && { reason }) }],
      }
    }
    case 'mcp_call': {
      const { approval_request_id: question, name, output, error } = item
      const told = error ? toldIn(error) : output
      const content = told ? [{ type: 'text' as const, text: told }] : []
      const isError = error !== null && error !== undefined
      return { role: 'tool', content: [{ type: 'tool-result', id: callOf(question), name, content, isError }] }
    }
  }
}

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

export const mcpCallItem = (itemId: string, { id, tool, server, input, output, isError }: PartOf<'tool-run'>) => ({
  id: itemId,
  type: 'mcp_call',
  approval_request_id: `${REQUEST}${id}`,
  name: tool,
  arguments: JSON.stringify(input),
  server_label: server,
  status: isError ? 'failed' : 'completed',
  output: isError ? null : output,
  error: isError ? { type: 'mcp_tool_execution_error', content: output } : null,
})
