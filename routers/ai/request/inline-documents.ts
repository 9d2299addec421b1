import { Readable } from 'node:stream'
import type { Context } from '../../core/context.ts'
import { type Issue, Problem } from '../../core/problems.ts'
import type { FilePart } from '../../ports/ai/messages.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import { appendNotes } from '../../ports/files/text-extractor.ts'
import { isDocumentUnsupported, noText, unreadableMessage } from './file-support.ts'
import type { ReadMessage } from './request.ts'

type Part = ReadMessage['content'][number]
type Path = Issue['path']

interface ReaderOptions {
  ctx: Pick<Context, 'services' | 'signal'>
  model: CallableModel
  /** Hears of the bytes of each text, before they are kept. */
  hold(bytes: number): void
}

/** Of one request: each is read by a process of its own. */
const MAX_DOCUMENTS = 20

/** Reads documents that are part of a request for a model that takes none, as those of attachments are. */
export class InlineDocuments {
  readonly #options: ReaderOptions
  #count = 0

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  /** The messages with the texts of documents; the same list where there are none. */
  async read(messages: readonly ReadMessage[]): Promise<readonly ReadMessage[]> {
    if (!messages.some(({ content }) => content.some(this.#isWanted))) return messages
    const read: ReadMessage[] = []
    for (const [at, message] of messages.entries()) {
      const content = await this.#texts(message.content, ['messages', at, 'content'])
      read.push({ ...message, content } as ReadMessage)
    }
    return read
  }

  readonly #isWanted = (part: Part): boolean =>
    part.type === 'tool-result'
      ? part.content.some(this.#isWanted)
      : part.type === 'file' && isDocumentUnsupported(part.mime, this.#options.model)

  async #texts(parts: readonly Part[], path: Path): Promise<Part[]> {
    const read: Part[] = []
    for (const [index, part] of parts.entries())
      read.push(this.#isWanted(part) ? await this.#text(part, [...path, index]) : part)
    return read
  }

  async #text(part: Part, path: Path): Promise<Part> {
    if (part.type !== 'tool-result') return this.#textOf(part as FilePart, path)
    const content = await this.#texts(part.content, [...path, 'content'])
    return { ...part, content: content as typeof part.content }
  }

  async #textOf({ mime, data, name }: FilePart, path: Path): Promise<FilePart> {
    const { ctx, hold } = this.#options
    if (++this.#count > MAX_DOCUMENTS) throw unread(['messages'], `must have at most ${MAX_DOCUMENTS} documents`)
    const bytes = Buffer.from(data, 'base64')
    const file = { mime, bytes: bytes.length, open: () => Readable.from([bytes], { objectMode: false }) }
    const found = await ctx.services.textExtractor.extract(file, ctx.signal())
    if ('unreadable' in found) throw unread(path, unreadableMessage(found.unreadable))
    if (found.text.trim() === '') throw unread(path, noText(found.notes))
    const text = Buffer.from(appendNotes(found))
    hold(text.length)
    return { type: 'file', mime: 'text/plain', data: text.toString('base64'), ...(name !== undefined && { name }) }
  }
}

const unread = (path: Path, message: string) => new Problem('invalid', { issues: [{ path, message }] })
