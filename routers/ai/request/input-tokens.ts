import { setImmediate } from 'node:timers/promises'
import { toJsonSchema } from '../../ports/ai/json-schema.ts'
import type { FilePart, StoredFilePart } from '../../ports/ai/messages.ts'
import type { FileEstimate } from '../../ports/ai/models.ts'
import { estimatePageTokens, estimateTokens } from '../../ports/ai/token-estimate.ts'
import type { FunctionTool } from '../../ports/ai/tools.ts'
import { isPlainText } from './parts.ts'
import { countPdfPages } from './pdf-pages.ts'
import type { AiRequest, RequestMessage } from './request.ts'

/** Maximum tokens of an image in most models. */
const IMAGE_TOKENS = 1600
/** Tokens of the text around a file and of its mention before the messages. */
const BLOCK_TOKENS = 100

/** Estimates the input tokens of a request, unrounded. Attachments count once they are read. */
export function estimateInputTokens({ system = [], messages, tools, format }: AiRequest): number {
  const messageTokens = messages.reduce(
    (sum, { content }: RequestMessage) => sum + sumTokens(content),
    sumTokens(system),
  )
  return (
    messageTokens +
    (tools.length > 0 ? estimateTokens(JSON.stringify(tools)) : 0) +
    (format ? estimateTokens(JSON.stringify(format)) : 0)
  )
}

/** Estimates the tokens of the definitions of the service's tools. */
export const estimateToolTokens = (tools: readonly FunctionTool[]): number =>
  tools.reduce(
    (sum, tool) => sum + estimateTokens(tool.name + tool.description + JSON.stringify(toJsonSchema(tool))),
    0,
  )

type Part = RequestMessage['content'][number]

const sumTokens = (parts: readonly Part[]): number => parts.reduce((sum, part) => sum + estimatePartTokens(part), 0)

function estimatePartTokens(part: Part): number {
  switch (part.type) {
    case 'file':
    case 'stored-file':
      return estimateFileTokens(part)
    case 'attachment':
      return 0
    case 'skipped':
      return BLOCK_TOKENS + estimateTokens(part.name)
    case 'tool-call':
      return estimateTokens(part.name + part.input + (part.signature ?? ''))
    case 'tool-approval':
      return estimateTokens(part.reason ?? '')
    case 'tool-result':
      return sumTokens(part.content)
    case 'reasoning':
      return estimateTokens(part.text + (part.signature ?? ''))
    case 'text':
      return estimateTokens(part.text)
  }
}

function estimateFileTokens(file: FilePart | StoredFilePart): number {
  if (file.mime.startsWith('image/')) return IMAGE_TOKENS
  if (file.type === 'stored-file') return estimatePageTokens(file.content.bytes)
  const { mime, data } = file
  if (mime === 'application/pdf') return estimatePageTokens((data.length / 4) * 3)
  // Other documents count once their text is extracted, as attachments do.
  return isPlainText(mime) ? estimateTokens(Buffer.from(data, 'base64').toString()) + BLOCK_TOKENS : 0
}

/** Maximum pages that any provider reads of a document, and minimum bytes of a page if pages cannot be counted. */
const MAX_PAGES = 1000
const MIN_PAGE_BYTES = 1000

/** Length of a slice in base64 characters; four are three bytes. */
const SLICE_CHARACTERS = 4 * 65_536

/** Counts the images and pages of a request, for which providers may count more tokens than we estimate. */
export async function countFiles(messages: readonly RequestMessage[]): Promise<FileEstimate> {
  const files: FileEstimate = { images: 0, pages: 0, estimate: 0 }
  for (const { content } of messages) for (const file of listFiles(content)) await addFile(file, files)
  return files
}

async function addFile(file: FilePart | StoredFilePart, files: FileEstimate): Promise<void> {
  const isImage = file.mime.startsWith('image/')
  if (!isImage && file.mime !== 'application/pdf') return
  files.estimate += estimateFileTokens(file)
  if (isImage) files.images++
  else files.pages += await countPages(file)
}

function* listFiles(parts: readonly RequestMessage['content'][number][]): Generator<FilePart | StoredFilePart, void> {
  for (const part of parts)
    if (part.type === 'tool-result') yield* listFiles(part.content)
    else if (part.type === 'file' || part.type === 'stored-file') yield part
}

async function countPages(file: FilePart | StoredFilePart): Promise<number> {
  const [pages, bytes] =
    file.type === 'file'
      ? [await countPdfPages(readSlices(file.data)), (file.data.length / 4) * 3]
      : // The read error is reported when the file is sent.
        [await file.content.pages().catch(() => undefined), file.content.bytes]
  return Math.min(MAX_PAGES, pages ?? Math.ceil(bytes / MIN_PAGE_BYTES))
}

/** Decodes a file in slices and lets other requests run in between. */
async function* readSlices(base64: string): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < base64.length; at += SLICE_CHARACTERS) {
    yield Buffer.from(base64.slice(at, at + SLICE_CHARACTERS), 'base64')
    await setImmediate()
  }
}
