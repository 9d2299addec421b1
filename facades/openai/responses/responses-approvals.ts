import { z } from 'zod'
import type { StreamPartOf } from '../../ai/answer.ts'
import type { RequestMessage } from '../chat/chat-messages.ts'

const REQUEST = 'mcpr_'

const call = { id: z.string(), name: z.string(), arguments: z.string(), server_label: z.string() }

/** Items of approvals and of tool calls that clients send back. */
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
type ApprovalItem = z.output<(typeof approvalItems)[number]>

interface ToolCallMembers {
  name: string
  arguments: string
  signature?: string | undefined
}

type McpCallItem = Extract<ApprovalItem, { type: 'mcp_call' }>

/**
 * Converts an approval request, the decision, or the result of the call to messages; the call has the id of its
 * approval.
 */
export function toApprovalMessages(item: ApprovalItem): RequestMessage[] {
  switch (item.type) {
    case 'mcp_approval_request':
      return [toCallMessage(stripPrefix(item.id), { ...item, signature: decodeSignature(item.id) })]
    case 'mcp_approval_response': {
      const { approval_request_id: requestId, approve: allow, reason } = item
      const approval = { type: 'tool-approval' as const, id: stripPrefix(requestId), allow, ...(reason && { reason }) }
      return [{ role: 'tool', content: [approval] }]
    }
    case 'mcp_call':
      return toResultMessages(item)
  }
}

function toResultMessages({
  id: own,
  approval_request_id: requestId,
  output,
  error,
  ...call
}: McpCallItem): RequestMessage[] {
  const id = requestId ? stripPrefix(requestId) : own
  const text = error ? readErrorText(error) : output
  const content = text ? [{ type: 'text' as const, text: text }] : []
  const isError = error !== null && error !== undefined
  const result = { type: 'tool-result' as const, id, name: call.name, content, isError }
  // Without an approval no other item contains the call.
  return [...(requestId ? [] : [toCallMessage(id, call)]), { role: 'tool', content: [result] }]
}

function toCallMessage(id: string, { name, arguments: input, signature }: ToolCallMembers): RequestMessage {
  return { role: 'assistant', content: [{ type: 'tool-call', id, name, input, ...(signature && { signature }) }] }
}

const readErrorText = ({ content, ...error }: object & { content?: unknown }): string =>
  typeof content === 'string' ? content : JSON.stringify({ content, ...error })

function stripPrefix(requestId: string): string {
  const id = stripSignature(requestId)
  return id.startsWith(REQUEST) ? id.slice(REQUEST.length) : id
}

const toApprovalId = ({ id, signature }: Pick<StreamPartOf<'approval'>, 'id' | 'signature'>): string =>
  encodeSignatureInId(`${REQUEST}${id}`, signature)

export const toApprovalRequestItem = (approval: StreamPartOf<'approval'>) => ({
  id: toApprovalId(approval),
  type: 'mcp_approval_request',
  name: approval.tool,
  arguments: JSON.stringify(approval.input),
  server_label: approval.server,
})

/** Converts a running tool call to an item. */
export const toStartedCallItem = (itemId: string, call: Omit<StreamPartOf<'tool-start'>, 'type'>) => ({
  id: itemId,
  type: 'mcp_call',
  approval_request_id: toApprovalId(call),
  name: call.tool,
  arguments: JSON.stringify(call.input),
  server_label: call.server,
  status: 'in_progress',
})

export const toMcpCallItem = (itemId: string, { output, isError, ...run }: StreamPartOf<'tool-run'>) => ({
  ...toStartedCallItem(itemId, run),
  status: isError ? 'failed' : 'completed',
  output: isError ? null : output,
  error: isError ? { type: 'mcp_tool_execution_error', content: output } : null,
})

/** Appends a provider signature to an item id, which clients send back unchanged. */
export const encodeSignatureInId = (id: string, signature: string | undefined): string =>
  signature ? `${id}~${Buffer.from(signature).toString('base64url')}` : id

const SIGNED = /^((?:fc|ctc|tsc|lsh|mcpr)_.+)~([\w-]+)$/

/** Decodes the provider signature of an item id; undefined without one. */
export function decodeSignature(id: string | null | undefined): string | undefined {
  const signature = SIGNED.exec(id ?? '')?.[2]
  return signature && Buffer.from(signature, 'base64url').toString()
}

const stripSignature = (id: string): string => SIGNED.exec(id)?.[1] ?? id
