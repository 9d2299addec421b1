import type { ContentPart, ServedResult } from './tool-servers.ts'

/** Returns what models get of a result: its texts, or its structured content if it has none. */
export function toModelResult({ content, structuredContent = null }: ServedResult): unknown {
  return content.length > 0 ? content.map(toText).join('\n') : structuredContent
}

/** Returns the text of a part, or a description of bytes, which models do not get. */
export function toText(part: ContentPart): string {
  const { type, text, data, mimeType, uri, resource } = part as KnownMembers
  if (typeof text === 'string') return text
  if (typeof resource?.text === 'string') return resource.text
  if (typeof uri === 'string') return uri
  const content = typeof data === 'string' ? data : resource?.blob
  if (typeof content !== 'string') return JSON.stringify(part)
  const bytes = Buffer.byteLength(content, 'base64')
  return `[${type} of type ${String(mimeType ?? resource?.mimeType ?? 'unknown').slice(0, 80)}, ${bytes} bytes, not shown]`
}

interface KnownMembers {
  type: string
  text?: unknown
  data?: unknown
  mimeType?: unknown
  uri?: unknown
  resource?: { text?: unknown; blob?: unknown; mimeType?: unknown }
}
