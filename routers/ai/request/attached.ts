import type { Viewer } from '../../../entities/sql/scope.ts'
import { type Issue, Problem } from '../../core/problems.ts'
import type { FilePart, SkippedPart } from '../../ports/ai/messages.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import type { PromptFile, PromptFiles, WantedFile } from '../../ports/ai/prompt-files.ts'
import { untakenFile } from './checks.ts'
import { imageTypes } from './parts.ts'
import type { AskedMessage, ReadMessage } from './request.ts'

/** Attachments of one request, of which each counts once. */
const MAX_ATTACHMENTS = 100

interface AttachmentsOptions {
  files: PromptFiles
  viewer: Viewer
  /** Only files of this room may be named. */
  room?: number | undefined
  /** The bytes that all files of a request may have together, with those that are part of it. */
  maxBytes: number
}

/** The attachments that a request names, each in the form in which its model takes it. */
export class Attachments {
  readonly #options: AttachmentsOptions
  readonly #messages: readonly AskedMessage[]
  readonly #wanted = new Map<string, WantedFile>()
  readonly #skipped = new Map<string, SkippedPart>()

  constructor(options: AttachmentsOptions, messages: readonly AskedMessage[]) {
    this.#options = options
    this.#messages = messages
  }

  /** Finds them, and says what is wrong with them. Throws where the text of one is still being read. */
  async find(model: CallableModel): Promise<Issue[]> {
    const places = placesOf(this.#messages)
    const names = [...new Set(places.map(({ name }) => name))]
    if (names.length > MAX_ATTACHMENTS) return [tooMany]
    const known = names.length > 0 ? await this.#known(names) : undefined
    const issues = places.flatMap((place) => this.#choose(place, known?.get(place.name), model))
    if (issues.length > 0 && issues.every(({ message }) => message === PENDING))
      throw new Problem('attachment_pending', { issues })
    return [...issues, ...this.#excess(this.#sum(storedBytes))]
  }

  get isEmpty(): boolean {
    return this.#wanted.size === 0 && this.#skipped.size === 0
  }

  /** Keeps in mind how the model is given a file, or why it is not; an issue where that refuses the request. */
  #choose({ name, path, isOptional }: Place, file: PromptFile | undefined, model: CallableModel): Issue[] {
    const wrong = file ? problemWith(file, model) : 'is not an attachment that you may use'
    if (file && !wrong) this.#wanted.set(name, { file, as: takesBytes(file, model) ? 'bytes' : 'text' })
    if (!wrong) return []
    if (!isOptional || wrong === PENDING) return [{ path, message: wrong }]
    const [called, reason] = file ? [file.name, wrong] : ['A file', 'is not there']
    this.#skipped.set(name, { type: 'skipped', name: called, reason })
    return []
  }

  async #known(names: readonly string[]): Promise<Map<string, PromptFile>> {
    const { files, viewer, room } = this.#options
    const found = await files.find(viewer, names)
    const usable = room === undefined ? found : found.filter((file) => file.room === room)
    return new Map(usable.flatMap((file) => [file.uuid, `${file.id}`].map((name) => [name, file] as const)))
  }

  /** The messages with what is in the attachments. `hold` hears of all bytes before they are kept. */
  async read(hold: (bytes: number) => void): Promise<ReadMessage[]> {
    const wanted = [...this.#files()]
    const parts = new Map<string, FilePart>()
    let total = this.#sum(({ file, as }) => (as === 'bytes' ? file.bytes : 0))
    if (wanted.length > 0) hold(wanted.reduce((sum, one) => sum + storedBytes(one), 0))
    const contents = this.#options.files.contents(this.#options.viewer, wanted)
    for await (const content of contents) {
      const { file, as } = wanted[parts.size] as WantedFile
      if (as === 'text') {
        hold(content.length)
        total += content.length
      }
      const issues = this.#excess(total)
      if (issues.length > 0) throw new Problem('invalid', { issues })
      parts.set(file.uuid, partOf(file, as, content))
    }
    return this.#messages.map((message) => this.#filled(message, parts))
  }

  /** With the files that are part of the request. */
  #sum(bytesOf: (wanted: WantedFile) => number): number {
    return [...this.#files()].reduce((sum, wanted) => sum + bytesOf(wanted), sentBytes(this.#messages))
  }

  /** Each file once, whatever it is called and how often. */
  #files(): Iterable<WantedFile> {
    return new Map([...this.#wanted.values()].map((wanted) => [wanted.file.uuid, wanted])).values()
  }

  #filled(message: AskedMessage, parts: ReadonlyMap<string, FilePart>): ReadMessage {
    if (message.role !== 'user') return message
    const content = message.content.flatMap((part) => {
      if (part.type !== 'attachment') return part
      const name = nameOf(part)
      return parts.get(this.#wanted.get(name)?.file.uuid ?? '') ?? this.#skipped.get(name) ?? []
    })
    return { role: 'user', content }
  }

  #excess(bytes: number): Issue[] {
    const { maxBytes } = this.#options
    return bytes > maxBytes ? [{ path: ['messages'], message: `has more than ${maxBytes} bytes of files` }] : []
  }
}

/** What there is to be read of a file before anything of it is unpacked. */
const storedBytes = ({ file, as }: WantedFile): number => (as === 'bytes' ? file.bytes : (file.textBytes ?? 0))

const tooMany: Issue = { path: ['messages'], message: `must have at most ${MAX_ATTACHMENTS} attachments` }

const nameOf = ({ id }: { id: string }) => (/^\d+$/.test(id) ? `${Number(id)}` : id.toLowerCase())

interface Place {
  name: string
  path: Issue['path']
  isOptional: boolean
}

const placesOf = (messages: readonly AskedMessage[]): Place[] =>
  messages.flatMap(({ content }, at) =>
    content.flatMap((part, index) =>
      part.type === 'attachment'
        ? [{ name: nameOf(part), path: ['messages', at, 'content', index], isOptional: part.optional ?? false }]
        : [],
    ),
  )

/** Of base64, three bytes are four characters. */
const sentBytes = (messages: readonly AskedMessage[]): number =>
  messages.reduce((sum, { content }) => content.reduce((all, part) => all + sentBytesOf(part), sum), 0)

function sentBytesOf(part: AskedMessage['content'][number]): number {
  if (part.type === 'file') return (part.data.length * 3) / 4
  return part.type === 'tool-result' ? part.content.reduce((sum, inner) => sum + sentBytesOf(inner), 0) : 0
}

const takesBytes = ({ mime }: PromptFile, model: CallableModel): boolean =>
  (imageTypes.includes(mime) || mime === 'application/pdf') && untakenFile({ mime }, model, []).length === 0

const PENDING = 'is still being read'

const failures = {
  encrypted: 'needs a password',
  damaged: 'is damaged, or not what it says',
  'too-large': 'is larger inside than is allowed',
  'too-much-memory': 'took too much memory to be read',
  'too-slow': 'took too long to be read',
  'not-read': 'could not be read',
} satisfies Record<NonNullable<PromptFile['textFailure']>, string>

/** Why this model cannot be given the file. */
function problemWith(file: PromptFile, model: CallableModel): string | undefined {
  if (file.clientEncrypted) return 'is encrypted by a browser, so that no model can read it'
  if (takesBytes(file, model)) return undefined
  if (file.mime.startsWith('image/')) return 'is an image, which this model does not take'
  if (file.textState === 'pending') return PENDING
  if (file.textState === 'none') return 'has no text that a model could read'
  return file.textState === 'failed' ? failures[file.textFailure ?? 'not-read'] : undefined
}

function partOf({ name, mime }: PromptFile, as: WantedFile['as'], content: Buffer): FilePart {
  return { type: 'file', mime: as === 'bytes' ? mime : 'text/plain', data: content.toString('base64'), name }
}
