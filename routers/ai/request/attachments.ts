import type { Viewer } from '../../../entities/sql/scope.ts'
import { type Issue, Problem } from '../../core/problems.ts'
import type { FilePart, SkippedPart, StoredFilePart } from '../../ports/ai/messages.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import type { PromptFile, PromptFiles, StoredBytes } from '../../ports/ai/prompt-files.ts'
import { findMisfit, takesBytes } from './file-support.ts'
import type { RequestMessage, ResolvedMessage } from './request.ts'

/** Signals that the text of some files is still being extracted. */
export class PendingTextsProblem extends Problem {
  /** Ids of the request's attachments. */
  readonly attachmentIds: readonly number[]

  constructor(issues: readonly Issue[], attachmentIds: readonly number[]) {
    super('attachment_pending', { issues })
    this.attachmentIds = attachmentIds
  }
}

/** Maximum number of distinct attachments of a request. */
const MAX_ATTACHMENTS = 100

/** Memory that a call needs for files it sends unchanged; it reads one after the other. */
const SENDING_BYTES = 256 * 1024

interface AttachmentsOptions {
  files: PromptFiles
  viewer: Viewer
  /** Room that must contain the files. */
  room?: number | undefined
  /** Maximum bytes of all files of a request, inline files included. */
  maxBytes: number
}

/** A file and the form in which the model receives it: unchanged or as text. */
interface SelectedFile {
  file: PromptFile
  as: 'bytes' | 'text'
  /** Number of occurrences in the request, under any of its names. */
  times: number
}

/** The attachments of a request, each in the form that the model takes. */
export class Attachments {
  readonly #options: AttachmentsOptions
  readonly #messages: readonly RequestMessage[]
  /** Files by uuid. */
  readonly #files = new Map<string, SelectedFile>()
  /** Uuids by the name in the request. */
  readonly #uuids = new Map<string, string>()
  readonly #skipped = new Map<string, SkippedPart>()

  constructor(options: AttachmentsOptions, messages: readonly RequestMessage[]) {
    this.#options = options
    this.#messages = messages
  }

  /** Finds the files and returns issues. Throws `PendingTextsProblem` while the text of a file is being extracted. */
  async find(model: CallableModel): Promise<Issue[]> {
    const references = findReferences(this.#messages)
    const names = [...new Set(references.map(({ name }) => name))]
    if (names.length > MAX_ATTACHMENTS) return [tooManyIssue]
    const files = names.length > 0 ? await this.#findFiles(names) : undefined
    const issues = references.flatMap((reference) => this.#choose(reference, files?.get(reference.name), model))
    if (issues.length > 0 && issues.every(({ reason }) => reason === 'pending'))
      throw new PendingTextsProblem(
        issues,
        [...(files?.values() ?? [])].map(({ id }) => id),
      )
    return [...issues, ...this.#findExcess(this.#countBytes)]
  }

  /** Selects the form of a file, or records why it is skipped. Returns an issue if that refuses the request. */
  #choose(
    { name, path, isOptional }: AttachmentReference,
    file: PromptFile | undefined,
    model: CallableModel,
  ): Issue[] {
    const misfit = file ? findMisfit(file, model) : { message: 'is not an attachment that you may use' }
    if (file && !misfit) this.#select(name, file, model)
    if (!misfit) return []
    if (!isOptional || misfit.reason === 'pending') return [{ path, ...misfit }]
    const [displayName, reason] = file ? [file.name, misfit.message] : ['A file', 'is not there']
    this.#skipped.set(name, { type: 'skipped', name: displayName, reason })
    return []
  }

  #select(name: string, file: PromptFile, model: CallableModel): void {
    const selected = this.#files.get(file.uuid) ?? { file, as: takesBytes(file, model) ? 'bytes' : 'text', times: 0 }
    selected.times++
    this.#files.set(file.uuid, selected)
    this.#uuids.set(name, file.uuid)
  }

  async #findFiles(names: readonly string[]): Promise<Map<string, PromptFile>> {
    const { files, viewer, room } = this.#options
    const found = await files.find(viewer, names)
    const usable = room === undefined ? found : found.filter((file) => file.room === room)
    return new Map(usable.flatMap((file) => [file.uuid, `${file.id}`].map((name) => [name, file] as const)))
  }

  /**
   * Returns the messages with the texts of attachments. Files that are sent unchanged are read while sending. Calls
   * `reserveBytes` before bytes are kept in memory.
   */
  async read(reserveBytes: (bytes: number) => void): Promise<readonly ResolvedMessage[]> {
    if (this.#files.size === 0 && this.#skipped.size === 0) return this.#messages as readonly ResolvedMessage[]
    const { files, viewer } = this.#options
    const [sentFiles, readFiles] = [this.#listSelected('bytes'), this.#listSelected('text')]
    const bytesToSend = countStoredBytes(sentFiles)
    if (sentFiles.length > 0) reserveBytes(Math.min(bytesToSend, SENDING_BYTES))
    if (readFiles.length > 0) reserveBytes(countStoredBytes(readFiles))
    const parts = new Map<string, FilePart | StoredFilePart>(
      sentFiles.map(({ file }) => [file.uuid, toStoredPart(file, files.toStoredBytes(file))]),
    )
    let totalBytes = sumInlineBytes(this.#messages) + bytesToSend
    const selected = readFiles.map(({ file }) => file)
    for await (const { file, text } of files.readTexts(viewer, selected)) {
      const bytes = text.length * (this.#files.get(file.uuid)?.times ?? 0)
      reserveBytes(bytes)
      totalBytes += bytes
      const issues = this.#findExcess(totalBytes)
      if (issues.length > 0) throw new Problem('invalid', { issues })
      parts.set(file.uuid, toTextPart(file, text))
    }
    return this.#messages.map((message) => this.#fillAttachments(message, parts))
  }

  /** Bytes of all files, inline files included. */
  get #countBytes(): number {
    return sumInlineBytes(this.#messages) + countStoredBytes([...this.#files.values()])
  }

  #listSelected(form: SelectedFile['as']): SelectedFile[] {
    return [...this.#files.values()].filter(({ as }) => as === form)
  }

  #fillAttachments(message: RequestMessage, parts: ReadonlyMap<string, FilePart | StoredFilePart>): ResolvedMessage {
    if (message.role !== 'user') return message
    const content = message.content.flatMap((part) => {
      if (part.type !== 'attachment') return part
      const name = normalizeName(part)
      const file = parts.get(this.#uuids.get(name) ?? '') ?? this.#skipped.get(name)
      return file ? { ...file, cache: part.cache } : []
    })
    return { role: 'user', content }
  }

  #findExcess(bytes: number): Issue[] {
    const { maxBytes } = this.#options
    return bytes > maxBytes ? [{ path: ['messages'], message: `has more than ${maxBytes} bytes of files` }] : []
  }
}

/** Sums up the stored bytes before anything is decompressed, each file as often as it occurs. */
const countStoredBytes = (selected: readonly SelectedFile[]): number =>
  selected.reduce((sum, { file, as, times }) => sum + times * (as === 'bytes' ? file.bytes : (file.textBytes ?? 0)), 0)

const tooManyIssue: Issue = { path: ['messages'], message: `must have at most ${MAX_ATTACHMENTS} attachments` }

const normalizeName = ({ id }: { id: string }) => (/^\d+$/.test(id) ? `${Number(id)}` : id.toLowerCase())

interface AttachmentReference {
  name: string
  path: Issue['path']
  isOptional: boolean
}

const findReferences = (messages: readonly RequestMessage[]): AttachmentReference[] =>
  messages.flatMap(({ content }, at) =>
    content.flatMap((part, index) =>
      part.type === 'attachment'
        ? [{ name: normalizeName(part), path: ['messages', at, 'content', index], isOptional: part.optional ?? false }]
        : [],
    ),
  )

/** Four characters of base64 are three bytes. */
const sumInlineBytes = (messages: readonly RequestMessage[]): number =>
  messages.reduce((sum, { content }) => content.reduce((all, part) => all + countInlineBytes(part), sum), 0)

function countInlineBytes(part: RequestMessage['content'][number]): number {
  if (part.type === 'file') return (part.data.length * 3) / 4
  return part.type === 'tool-result' ? part.content.reduce((sum, inner) => sum + countInlineBytes(inner), 0) : 0
}

const toStoredPart = ({ mime, name }: PromptFile, content: StoredBytes): StoredFilePart => ({
  type: 'stored-file',
  mime,
  name,
  content,
})

const toTextPart = ({ name }: PromptFile, text: Buffer): FilePart => ({
  type: 'file',
  mime: 'text/plain',
  data: text.toString('base64'),
  name,
})
