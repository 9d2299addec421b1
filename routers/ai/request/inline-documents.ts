import { Readable } from 'node:stream'
import type { Context } from '../../core/context.ts'
import { type Issue, Problem } from '../../core/problems.ts'
import type { FilePart } from '../../ports/ai/messages.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import { appendNotes } from '../../ports/files/text-extractor.ts'
import { describeFailure, describeNoText, isDocumentUnsupported } from './file-support.ts'
import type { ResolvedMessage } from './request.ts'

type Part = ResolvedMessage['content'][number]
type Path = Issue['path']

interface ReaderOptions {
  ctx: Pick<Context, 'services' | 'signal'>
  model: CallableModel
  /** Reserves the bytes of each text before it is kept in memory. */
  reserveBytes(bytes: number): void
}

/** Maximum number of documents of a request: each is read by a process of its own. */
const MAX_DOCUMENTS = 20

/** Extracts the text of inline documents for models that take no documents, as for attachments. */
export class InlineDocuments {
  readonly #options: ReaderOptions
  #count = 0

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /** Returns the messages with the texts of documents, or the same list if there are none. */
  async read(messages: readonly ResolvedMessage[]): Promise<readonly ResolvedMessage[]> {
    if (!messages.some(({ content }) => content.some(this.#needsText))) return messages
    const messagesWithTexts: ResolvedMessage[] = []
    for (const [at, message] of messages.entries()) {
      const content = await this.#readParts(message.content, ['messages', at, 'content'])
      messagesWithTexts.push({ ...message, content } as ResolvedMessage)
    }
    return messagesWithTexts
  }

  readonly #needsText = (part: Part): boolean =>
    part.type === 'tool-result'
      ? part.content.some(this.#needsText)
      : part.type === 'file' && isDocumentUnsupported(part.mime, this.#options.model)

  async #readParts(parts: readonly Part[], path: Path): Promise<Part[]> {
    const read: Part[] = []
    for (const [index, part] of parts.entries())
      read.push(this.#needsText(part) ? await this.#readPart(part, [...path, index]) : part)
    return read
  }

  async #readPart(part: Part, path: Path): Promise<Part> {
    if (part.type !== 'tool-result') return this.#readFile(part as FilePart, path)
    const content = await this.#readParts(part.content, [...path, 'content'])
    return { ...part, content: content as typeof part.content }
  }

  async #readFile({ mime, data, ...more }: FilePart, path: Path): Promise<FilePart> {
    const { ctx, reserveBytes } = this.#options
    if (++this.#count > MAX_DOCUMENTS)
      throw createDocumentProblem(['messages'], `must have at most ${MAX_DOCUMENTS} documents`)
    const bytes = Buffer.from(data, 'base64')
    const file = { mime, bytes: bytes.length, open: () => Readable.from([bytes], { objectMode: false }) }
    const extracted = await ctx.services.files.textExtractor.extract(file, ctx.signal())
    if ('unreadable' in extracted) throw createDocumentProblem(path, describeFailure(extracted.unreadable))
    if (extracted.text.trim() === '') throw createDocumentProblem(path, describeNoText(extracted.notes))
    const text = Buffer.from(appendNotes(extracted))
    reserveBytes(text.length)
    return { ...more, mime: 'text/plain', data: text.toString('base64') }
  }
}

const createDocumentProblem = (path: Path, message: string) => new Problem('invalid', { issues: [{ path, message }] })
