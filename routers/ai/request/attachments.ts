import type { Viewer } from '../../../entities/sql/scope.ts'
import { type Issue, Problem } from '../../core/problems.ts'
import type { FilePart, SkippedPart, StoredFilePart } from '../../ports/ai/messages.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import type { PromptFile, PromptFiles, StoredBytes } from '../../ports/ai/prompt-files.ts'
import { findMisfit, takesBytes } from './file-support.ts'
import { PendingTexts } from './pending-texts.ts'
import type { AskedMessage, ReadMessage } from './request.ts'

/** Attachments of one request, by their names. */
const MAX_ATTACHMENTS = 100

/** What a call has in memory of the files that it sends as they are, which it reads one after the other. */
const SENDING_BYTES = 256 * 1024

interface AttachmentsOptions {
  files: PromptFiles
  viewer: Viewer
  /** Only files of this room may be named. */
  room?: number | undefined
  /** The bytes that all files of a request may have together, with those that are part of it. */
  maxBytes: number
}

/** A file as a model is to be given it: as it is, or the text in it. */
interface WantedFile {
  file: PromptFile
  as: 'bytes' | 'text'
  /** How often it is in the request, by whatever name. */
  times: number
}

/** The attachments that a request names, each in the form in which its model takes it. */
export class Attachments {
  readonly #options: AttachmentsOptions
  readonly #messages: readonly AskedMessage[]
  /** By their uuids. */
  readonly #files = new Map<string, WantedFile>()
  /** By the names that files have in the request. */
  readonly #uuids = new Map<string, string>()
  readonly #skipped = new Map<string, SkippedPart>()

  constructor(options: AttachmentsOptions, messages: readonly AskedMessage[]) {
    this.#options = options
    this.#messages = messages
  }

  /** Finds them, and says what is wrong with them. Throws where the text of one is still being read. */
  async find(model: CallableModel): Promise<Issue[]> {
    const places = findPlaces(this.#messages)
    const names = [...new Set(places.map(({ name }) => name))]
    if (names.length > MAX_ATTACHMENTS) return [tooMany]
    const known = names.length > 0 ? await this.#known(names) : undefined
    const issues = places.flatMap((place) => this.#choose(place, known?.get(place.name), model))
    if (issues.length > 0 && issues.every(({ reason }) => reason === 'pending'))
      throw new PendingTexts(
        issues,
        [...(known?.values() ?? [])].map(({ id }) => id),
      )
    return [...issues, ...this.#excess(this.#knownBytes)]
  }

  get isEmpty(): boolean {
    return this.#files.size === 0 && this.#skipped.size === 0
  }

  /** Keeps in mind how the model is given a file, or why it is not; an issue where that refuses the request. */
  #choose({ name, path, isOptional }: Place, file: PromptFile | undefined, model: CallableModel): Issue[] {
    const wrong = file ? findMisfit(file, model) : { message: 'is not an attachment that you may use' }
    if (file && !wrong) this.#want(name, file, model)
    if (!wrong) return []
    if (!isOptional || wrong.reason === 'pending') return [{ path, ...wrong }]
    const [called, reason] = file ? [file.name, wrong.message] : ['A file', 'is not there']
    this.#skipped.set(name, { type: 'skipped', name: called, reason })
    return []
  }

  #want(name: string, file: PromptFile, model: CallableModel): void {
    const wanted = this.#files.get(file.uuid) ?? { file, as: takesBytes(file, model) ? 'bytes' : 'text', times: 0 }
    wanted.times++
    this.#files.set(file.uuid, wanted)
    this.#uuids.set(name, file.uuid)
  }

  async #known(names: readonly string[]): Promise<Map<string, PromptFile>> {
    const { files, viewer, room } = this.#options
    const found = await files.find(viewer, names)
    const usable = room === undefined ? found : found.filter((file) => file.room === room)
    return new Map(usable.flatMap((file) => [file.uuid, `${file.id}`].map((name) => [name, file] as const)))
  }

  /**
   * The messages with the texts of attachments; what is given as it is will be read while it is sent. `hold` hears of all bytes
   * that are kept, before they are.
   */
  async read(hold: (bytes: number) => void): Promise<ReadMessage[]> {
    const { files, viewer } = this.#options
    const [sent, read] = [this.#wantedAs('bytes'), this.#wantedAs('text')]
    const sentBytes = storedBytes(sent)
    if (sent.length > 0) hold(Math.min(sentBytes, SENDING_BYTES))
    if (read.length > 0) hold(storedBytes(read))
    const parts = new Map<string, FilePart | StoredFilePart>(
      sent.map(({ file }) => [file.uuid, storedPart(file, files.toStoredBytes(file))]),
    )
    let total = inlineBytes(this.#messages) + sentBytes
    const wanted = read.map(({ file }) => file)
    for await (const { file, text } of files.readTexts(viewer, wanted)) {
      const bytes = text.length * (this.#files.get(file.uuid)?.times ?? 0)
      hold(bytes)
      total += bytes
      const issues = this.#excess(total)
      if (issues.length > 0) throw new Problem('invalid', { issues })
      parts.set(file.uuid, textPart(file, text))
    }
    return this.#messages.map((message) => this.#filled(message, parts))
  }

  /** With the files that are part of the request. */
  get #knownBytes(): number {
    return inlineBytes(this.#messages) + storedBytes([...this.#files.values()])
  }

  #wantedAs(form: WantedFile['as']): WantedFile[] {
    return [...this.#files.values()].filter(({ as }) => as === form)
  }

  #filled(message: AskedMessage, parts: ReadonlyMap<string, FilePart | StoredFilePart>): ReadMessage {
    if (message.role !== 'user') return message
    const content = message.content.flatMap((part) => {
      if (part.type !== 'attachment') return part
      const name = nameOf(part)
      return parts.get(this.#uuids.get(name) ?? '') ?? this.#skipped.get(name) ?? []
    })
    return { role: 'user', content }
  }

  #excess(bytes: number): Issue[] {
    const { maxBytes } = this.#options
    return bytes > maxBytes ? [{ path: ['messages'], message: `has more than ${maxBytes} bytes of files` }] : []
  }
}

/** What there is to be read of files, each as often as it is wanted, before anything of them is unpacked. */
const storedBytes = (wanted: readonly WantedFile[]): number =>
  wanted.reduce((sum, { file, as, times }) => sum + times * (as === 'bytes' ? file.bytes : (file.textBytes ?? 0)), 0)

const tooMany: Issue = { path: ['messages'], message: `must have at most ${MAX_ATTACHMENTS} attachments` }

const nameOf = ({ id }: { id: string }) => (/^\d+$/.test(id) ? `${Number(id)}` : id.toLowerCase())

interface Place {
  name: string
  path: Issue['path']
  isOptional: boolean
}

const findPlaces = (messages: readonly AskedMessage[]): Place[] =>
  messages.flatMap(({ content }, at) =>
    content.flatMap((part, index) =>
      part.type === 'attachment'
        ? [{ name: nameOf(part), path: ['messages', at, 'content', index], isOptional: part.optional ?? false }]
        : [],
    ),
  )

/** Of base64, three bytes are four characters. */
const inlineBytes = (messages: readonly AskedMessage[]): number =>
  messages.reduce((sum, { content }) => content.reduce((all, part) => all + countInlineBytes(part), sum), 0)

function countInlineBytes(part: AskedMessage['content'][number]): number {
  if (part.type === 'file') return (part.data.length * 3) / 4
  return part.type === 'tool-result' ? part.content.reduce((sum, inner) => sum + countInlineBytes(inner), 0) : 0
}

const storedPart = ({ mime, name }: PromptFile, content: StoredBytes): StoredFilePart => ({
  type: 'stored-file',
  ...{ mime, name, content },
})

const textPart = ({ name }: PromptFile, text: Buffer): FilePart => ({
  type: 'file',
  ...{ mime: 'text/plain', data: text.toString('base64'), name },
})
