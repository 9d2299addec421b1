import type { FilePart, StoredFilePart } from '../../ports/ai/messages.ts'
import { tokensIn, tokensOfPages } from '../../ports/ai/token-estimate.ts'
import { schemaOf } from '../../ports/ai/tool-schema.ts'
import type { FunctionTool } from '../../ports/ai/tools.ts'
import { isPlainText } from './parts.ts'
import type { AiRequest, AskedMessage } from './request.ts'

/** What most models count for an image at most. */
const IMAGE_TOKENS = 1600
/** What is written around the text of a file, and said of it before all messages. */
const BLOCK_TOKENS = 100

/** Our estimate of what a request takes of a model's input, not rounded; attachments count when they are read. */
export function inputTokensOf({ system = [], messages, tools, format }: AiRequest): number {
  const said = messages.reduce((sum, { content }: AskedMessage) => sum + sumOf(content), sumOf(system))
  return (
    said + (tools.length > 0 ? tokensIn(JSON.stringify(tools)) : 0) + (format ? tokensIn(JSON.stringify(format)) : 0)
  )
}

/** What the model is told of the tools that the service runs for it. */
export const tokensOfTools = (tools: readonly FunctionTool[]): number =>
  tools.reduce((sum, tool) => sum + tokensIn(tool.name + tool.description + JSON.stringify(schemaOf(tool))), 0)

type Part = AskedMessage['content'][number]

const sumOf = (parts: readonly Part[]): number => parts.reduce((sum, part) => sum + tokensOfPart(part), 0)

function tokensOfPart(part: Part): number {
  switch (part.type) {
    case 'file':
    case 'stored-file':
      return tokensOfFile(part)
    case 'attachment':
      return 0
    case 'skipped':
      return BLOCK_TOKENS + tokensIn(part.name)
    case 'tool-call':
      return tokensIn(part.name + part.input + (part.signature ?? ''))
    case 'tool-approval':
      return tokensIn(part.reason ?? '')
    case 'tool-result':
      return sumOf(part.content)
    case 'reasoning':
      return tokensIn(part.text + (part.signature ?? ''))
    case 'text':
      return tokensIn(part.text)
  }
}

export function tokensOfFile(file: FilePart | StoredFilePart): number {
  if (file.mime.startsWith('image/')) return IMAGE_TOKENS
  if (file.type === 'stored-file') return tokensOfPages(file.content.bytes)
  const { mime, data } = file
  if (mime === 'application/pdf') return tokensOfPages((data.length / 4) * 3)
  // Other documents count, as attachments do, when their text is read.
  return isPlainText(mime) ? tokensIn(Buffer.from(data, 'base64').toString()) + BLOCK_TOKENS : 0
}
