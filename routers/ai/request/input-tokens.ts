import { setImmediate } from 'node:timers/promises'
import { type Adapter, maxFileTokens } from '../../ports/ai/adapters.ts'
import { toJsonSchema } from '../../ports/ai/json-schema.ts'
import type { FilePart, StoredFilePart } from '../../ports/ai/messages.ts'
import type { FileEstimate, ModelCall } from '../../ports/ai/models.ts'
import { estimatePageTokens, estimateTokens } from '../../ports/ai/token-estimate.ts'
import type { FunctionTool } from '../../ports/ai/tools.ts'
import { isPlainText } from './parts.ts'
import { countPdfPages } from './pdf-pages.ts'
import type { AiRequest, AskedMessage } from './request.ts'

/** What most models count for an image at most. */
const IMAGE_TOKENS = 1600
/** What is written around the text of a file, and said of it before all messages. */
const BLOCK_TOKENS = 100

/** Our estimate of what a request takes of a model's input, not rounded; attachments count when they are read. */
export function estimateInputTokens({ system = [], messages, tools, format }: AiRequest): number {
  const said = messages.reduce((sum, { content }: AskedMessage) => sum + sumTokens(content), sumTokens(system))
  return (
    said +
    (tools.length > 0 ? estimateTokens(JSON.stringify(tools)) : 0) +
    (format ? estimateTokens(JSON.stringify(format)) : 0)
  )
}

/** What the model is told of the tools that the service runs for it. */
export const estimateToolTokens = (tools: readonly FunctionTool[]): number =>
  tools.reduce(
    (sum, tool) => sum + estimateTokens(tool.name + tool.description + JSON.stringify(toJsonSchema(tool))),
    0,
  )

type Part = AskedMessage['content'][number]

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
  // Other documents count, as attachments do, when their text is read.
  return isPlainText(mime) ? estimateTokens(Buffer.from(data, 'base64').toString()) + BLOCK_TOKENS : 0
}

/** One model for which OpenAI counts far more: 2833 tokens, and 5667 for each of 8 tiles, or 4 of a page. */
const expensiveModel = { name: /^gpt-4o-mini/, image: 48_169, page: 28_501 }

/**
 * As many tokens as the provider may count where our estimate is this. It errs high, which is right for a reservation and wrong
 * for refusing a request as too long: no model reads more than it takes.
 */
export function maxInputTokens({ model, files }: Pick<ModelCall, 'model' | 'files'>, estimate: number): number {
  const isDear = expensiveModel.name.test(model.upstreamId ?? model.modelId)
  const { image, page } = isDear ? expensiveModel : maxFileTokens[model.adapter as Adapter]
  const more = files.images * image + files.pages * page - files.estimate
  return Math.max(estimate, Math.min(estimate + more, model.limits?.maxInputTokens || Infinity))
}

/** As many pages as any provider reads of a document, and the bytes that each has at least, where they cannot be counted. */
const MAX_PAGES = 1000
const MIN_PAGE_BYTES = 1000

/** In characters of base64, which are four for three bytes. */
const SLICE = 4 * 65_536

/** What the images and documents of a request are: of these providers may count more than we estimate. */
export async function countFiles(messages: readonly AskedMessage[]): Promise<FileEstimate> {
  const files: FileEstimate = { images: 0, pages: 0, estimate: 0 }
  for (const { content } of messages) for (const file of filesAmong(content)) await add(file, files)
  return files
}

async function add(file: FilePart | StoredFilePart, files: FileEstimate): Promise<void> {
  const isImage = file.mime.startsWith('image/')
  if (!isImage && file.mime !== 'application/pdf') return
  files.estimate += estimateFileTokens(file)
  if (isImage) files.images++
  else files.pages += await countPages(file)
}

function* filesAmong(parts: readonly AskedMessage['content'][number][]): Generator<FilePart | StoredFilePart, void> {
  for (const part of parts)
    if (part.type === 'tool-result') yield* filesAmong(part.content)
    else if (part.type === 'file' || part.type === 'stored-file') yield part
}

async function countPages(file: FilePart | StoredFilePart): Promise<number> {
  const [pages, bytes] =
    file.type === 'file'
      ? [await countPdfPages(readSlices(file.data)), (file.data.length / 4) * 3]
      : // Whoever sends it is told why it cannot be read.
        [await file.content.pages().catch(() => undefined), file.content.bytes]
  return Math.min(MAX_PAGES, pages ?? Math.ceil(bytes / MIN_PAGE_BYTES))
}

/** The bytes of a file, between which other requests have their turn. */
async function* readSlices(base64: string): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < base64.length; at += SLICE) {
    yield Buffer.from(base64.slice(at, at + SLICE), 'base64')
    await setImmediate()
  }
}
