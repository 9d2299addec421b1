// Reads an archive of any size from the disk of a browser, a part at a time.
import { BlobReader, type FileEntry, ZipReader } from '@zip.js/zip.js/lib/zip-core-custom.js'
import { isFromChatGpt, readChatGpt } from './chatgpt.ts'
import { type ImportedConversation, toFields } from './imported-conversation.ts'
import { JsonSplitter, type Member } from './json-splitter.ts'
import { isFromLibreChat, readLibreChat } from './librechat.ts'
import { isFromSvc, readSvcExport } from './svc-export.ts'

/** The largest total size of the unpacked files. */
const MAX_UNPACKED = 1024 ** 3

/** The reason why a file or a conversation could not be read. */
export type ReadFailure = 'archive' | 'cut' | 'damaged' | 'otherFile' | 'other' | 'tooLong' | 'tooMuch'

export type Finding =
  | { type: 'conversation'; conversation: ImportedConversation }
  | { type: 'failure'; failure: ReadFailure; file: string; position?: number }
  | { type: 'progress' /** From 0 to 1. */; progress: number }

/** Reports a finding and waits until it is processed. */
type ReportFinding = (finding: Finding) => Promise<void>

/** Reads an export piece by piece. Unreadable parts are reported and skipped. */
export async function readExport(file: File, report: ReportFinding): Promise<void> {
  const fail = (failure: ReadFailure, name = file.name) => report({ type: 'failure', failure, file: name })
  const files = await listJsonFiles(file).catch(() => undefined)
  if (!files) return fail('archive')
  if (files.length === 0) return fail('otherFile')
  // Reading an entry fails if it is larger than the archive says.
  const total = files.reduce((sum, { size }) => sum + size, 0)
  if (total > MAX_UNPACKED) return fail('tooMuch')
  let read = 0
  const reportBytes = (bytes: number) => {
    read += bytes
    return report({ type: 'progress', progress: read / total })
  }
  for (const each of files) {
    const failure = await new ConversationFinder(each.name, report).readAll(each, reportBytes)
    if (failure) await fail(failure, each.name)
  }
}

/** Finds the conversations in one file. */
class ConversationFinder {
  readonly #splitter = new JsonSplitter()
  readonly #file: string
  readonly #report: ReportFinding
  #position = 0
  #hasConversations = false
  #unknownPositions: number[] = []

  constructor(file: string, report: ReportFinding) {
    this.#file = file
    this.#report = report
  }

  /** Returns the reason if the file was not read to its end. */
  async readAll(file: JsonFile, reportBytes: (bytes: number) => Promise<void>): Promise<ReadFailure | undefined> {
    const decoder = new TextDecoder()
    const write = async (bytes: Uint8Array) => {
      await reportBytes(bytes.length)
      for (const member of this.#splitter.push(decoder.decode(bytes, { stream: true }))) await this.#read(member)
    }
    let error: unknown
    const rememberError = (thrown: unknown) => {
      error ??= thrown
      throw thrown
    }
    // The archive library reports only that writing failed, so the error is kept here.
    const sink = new WritableStream<Uint8Array>({ write: (bytes) => write(bytes).catch(rememberError) })
    try {
      await file.pipeTo(sink)
    } catch {
      if (error === undefined) return 'cut'
      throw error
    }
    if (!this.#hasConversations) return this.#splitter.isCut ? 'cut' : 'otherFile'
    for (const position of this.#unknownPositions) await this.#fail('other', position)
    return this.#splitter.isCut ? 'cut' : undefined
  }

  async #read(member: Member): Promise<void> {
    const position = ++this.#position
    if (member === undefined) return this.#fail('tooLong', position)
    const parsed = parseJson(member)
    if (parsed === undefined) return this.#fail('damaged', position)
    const conversation = readConversation(parsed)
    if (!conversation) {
      if (this.#unknownPositions.length < MAX_UNKNOWN) this.#unknownPositions.push(position)
      return
    }
    this.#hasConversations = true
    await this.#report({ type: 'conversation', conversation })
  }

  #fail(failure: ReadFailure, position: number): Promise<void> {
    return this.#report({ type: 'failure', failure, file: this.#file, position })
  }
}

/** The most members of a file that are reported as no conversations. */
const MAX_UNKNOWN = 100

/** Returns undefined if the text is no JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns undefined if the value is no conversation. */
function readConversation(parsed: unknown): ImportedConversation | undefined {
  const fields = toFields(parsed)
  if (isFromChatGpt(fields)) return readChatGpt(fields)
  if (isFromSvc(fields)) return readSvcExport(fields)
  if (isFromLibreChat(fields)) return readLibreChat(fields)
  return undefined
}

/** A JSON file, alone or in an archive. */
interface JsonFile {
  name: string
  /** The unpacked size in bytes that the archive declares. Reading fails beyond it. */
  size: number
  /** Writes the content of the file to a stream. */
  pipeTo(sink: WritableStream<Uint8Array>): Promise<void>
}

/** The most entries of an archive. */
const MAX_FILES = 100_000

/** Lists the JSON files of a ZIP archive by its directory, or returns the file itself. */
async function listJsonFiles(file: File): Promise<JsonFile[]> {
  if (!(await isArchive(file))) {
    const { name, size } = file
    return [{ name, size, pipeTo: (sink) => (file.stream() as ReadableStream<Uint8Array>).pipeTo(sink) }]
  }
  const reader = new ZipReader(new BlobReader(file), { useWebWorkers: false })
  const files: JsonFile[] = []
  let count = 0
  for await (const entry of reader.getEntriesGenerator()) {
    if (++count > MAX_FILES) throw new Error('There are too many files in the archive.')
    if (!entry.directory && entry.filename.toLowerCase().endsWith('.json')) files.push(toJsonFile(entry))
  }
  return files
}

function toJsonFile(entry: FileEntry): JsonFile {
  const { filename, uncompressedSize } = entry
  return {
    name: filename.slice(-MAX_NAME_LENGTH),
    size: uncompressedSize,
    pipeTo: async (sink) => {
      await entry.getData(sink, { checkSignature: true })
    },
  }
}

/** Characters of a name that are shown. */
const MAX_NAME_LENGTH = 120

const ZIP_SIGNATURE = [0x50, 0x4b]

async function isArchive(file: File): Promise<boolean> {
  const signature = new Uint8Array(await file.slice(0, ZIP_SIGNATURE.length).arrayBuffer())
  return ZIP_SIGNATURE.every((byte, index) => signature[index] === byte)
}
