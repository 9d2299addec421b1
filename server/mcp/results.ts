import type { CallToolResult } from '@ai-sdk/mcp'
import { ToolFailure, ToolServerError } from '../../routers/ports/ai/tool-servers.ts'

interface Part {
  type: string
  text?: unknown
  data?: unknown
  mimeType?: unknown
  uri?: unknown
  resource?: { text?: unknown; blob?: unknown; mimeType?: unknown }
}

/** What a model is told of a result: its texts, or its structure where there are none, or of its failure. Throws where it is too large. */
export function toldToModel(result: CallToolResult, maxBytes: number): unknown {
  const { content, structuredContent, isError } = result as {
    content?: Part[]
    structuredContent?: unknown
    isError?: boolean
  }
  const texts = (content ?? []).map(textOf)
  const told = texts.length > 0 ? texts.join('\n') : (structuredContent ?? null)
  const bytes = Buffer.byteLength(JSON.stringify(told) ?? '')
  if (bytes > maxBytes) throw new ToolServerError(`its result is ${bytes} bytes, of which ${maxBytes} are taken`)
  return isError ? new ToolFailure(told) : told
}

function textOf({ type, text, data, mimeType, uri, resource }: Part): string {
  if (typeof text === 'string') return text
  if (typeof resource?.text === 'string') return resource.text
  if (typeof uri === 'string') return uri
  const content = typeof data === 'string' ? data : resource?.blob
  const bytes = typeof content === 'string' ? Buffer.byteLength(content, 'base64') : 0
  return `[${type} of type ${String(mimeType ?? resource?.mimeType ?? 'unknown').slice(0, 80)}, ${bytes} bytes, not shown]`
}
