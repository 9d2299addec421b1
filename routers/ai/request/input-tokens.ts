import { BYTES_A_TOKEN, estimateTokens, tokensOf } from '../../catalogue/pricing.ts'
import type { FilePart } from '../../ports/ai/messages.ts'
import type { AiRequest, AskedMessage } from './request.ts'

/** What most models count for an image at most. */
const IMAGE_TOKENS = 1600
/** A page of a document, of which there are at least as many as it has so many bytes. */
const PAGE_TOKENS = 1500
const PAGE_BYTES = 50_000
/** What is written around the text of a file, and said of it before all messages. */
const BLOCK_TOKENS = 100

/** Our estimate of what a request takes of a model's input, not rounded; attachments count when they are read. */
export function inputTokensOf({ system = [], messages, tools }: AiRequest): number {
  const said = messages.reduce((sum, { content }: AskedMessage) => sum + sumOf(content), sumOf(system))
  return said + (tools.length > 0 ? estimateTokens(JSON.stringify(tools)) : 0)
}

type Part = AskedMessage['content'][number]

const sumOf = (parts: readonly Part[]): number => parts.reduce((sum, part) => sum + tokensOfPart(part), 0)

/** A quarter of a token for each byte of text, so that many short texts are no more than one long one. */
function tokensOfPart(part: Part): number {
  switch (part.type) {
    case 'file':
      return tokensOfFile(part)
    case 'attachment':
      return 0
    case 'tool-call':
      return Buffer.byteLength(part.input) / BYTES_A_TOKEN
    case 'tool-result':
      return sumOf(part.content)
    default:
      return Buffer.byteLength(part.text) / BYTES_A_TOKEN
  }
}

function tokensOfFile({ mime, data }: FilePart): number {
  const bytes = (data.length / 4) * 3
  if (mime.startsWith('image/')) return IMAGE_TOKENS
  return mime === 'application/pdf' ? Math.ceil(bytes / PAGE_BYTES) * PAGE_TOKENS : tokensOf(bytes) + BLOCK_TOKENS
}
