import { fromBase64, makeKey, openFile, sealFile, toBase64 } from '../../browser/crypto.ts'
import { type Answer, parseAnswer, type ToolStep } from './conversation/answer.ts'
import { isRecord } from './local-store.ts'

/** A file of a shared message. */
export interface SharedFile {
  name: string
  mime: string
  content: Blob
}

export interface SharedMessage {
  role: 'user' | 'assistant'
  /** The id of the model that answered, and what people call it. */
  model: string | null
  modelLabel: string
  answer: Answer
  files: SharedFile[]
  /** The number of files that are not shared. */
  omittedFiles: number
  createdAt: string
}

/** A copy of a branch of a conversation, which does not change with it. */
export interface SharedCopy {
  title: string
  sharedAt: string
  /** The instructions that the model got; empty if they are not shared. */
  instructions: string
  messages: SharedMessage[]
}

/** The copy cannot be opened: a part of the link is missing or wrong, or its owner has stored something else. */
export class WrongLinkKey extends Error {
  override readonly name = 'WrongLinkKey'
}

/** The form of the copies that this front end writes and reads. */
const FORMAT = 1
/** The bytes that say how long the description is, which stands before the files. */
const LENGTH_BYTES = 4

export const makeLinkKey = (): string => toUrl(makeKey())

const toUrl = (key: string) => key.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')

/** Returns the key of a link in the form of the cryptography; throws unless it is written exactly as it was made. */
function readLinkKey(text: string): string {
  if (!/^[\w-]{43}$/.test(text)) throw new WrongLinkKey()
  const key = `${text.replaceAll('-', '+').replaceAll('_', '/')}=`
  // The last letter has bits that decoders overlook.
  if (toBase64(fromBase64(key)) !== key) throw new WrongLinkKey()
  return key
}

/**
 * Leaves out what the model thought, as that may tell its instructions, what the answer cost, and what it is in its chat: a
 * summary would hide messages from whoever goes on with the copy.
 */
export const toSharedAnswer = ({ text, citations, tools, cut, answeredBy }: Answer): Answer => ({
  text,
  citations,
  thoughts: [],
  tools: tools.map(toSharedTool),
  ...(cut && { cut }),
  ...(answeredBy !== undefined && { answeredBy }),
})

const toSharedTool = ({ id, name, server, state, at, input, output }: ToolStep): ToolStep => ({
  id,
  name,
  server,
  state,
  ...(at !== undefined && { at }),
  ...(input !== undefined && { input }),
  ...(output !== undefined && { output }),
})

/** Seals a copy with the key of its link. */
export async function sealCopy(copy: SharedCopy, linkKey: string): Promise<Blob> {
  const files = copy.messages.flatMap((message) => message.files)
  const messages = copy.messages.map((message) => ({
    ...message,
    files: message.files.map(({ name, mime, content }) => ({ name, mime, bytes: content.size })),
  }))
  const description = new Blob([JSON.stringify({ format: FORMAT, ...copy, messages })])
  const length = new DataView(new ArrayBuffer(LENGTH_BYTES))
  length.setUint32(0, description.size)
  const plain = new Blob([length.buffer, description, ...files.map(({ content }) => content)])
  return new Response(plain.stream().pipeThrough(await sealFile(readLinkKey(linkKey)))).blob()
}

/**
 * Opens a sealed copy; throws `WrongLinkKey` if the key is not whole or is that of another link, or if it is no copy. The
 * copy must have been read whole, so that a lost connection is no wrong key.
 */
export async function openCopy(sealed: Blob, linkKey: string): Promise<SharedCopy> {
  const key = readLinkKey(linkKey)
  try {
    const plain = await new Response(sealed.stream().pipeThrough(openFile(new Map([[0, key]])))).blob()
    const length = new DataView(await plain.slice(0, LENGTH_BYTES).arrayBuffer()).getUint32(0)
    const start = LENGTH_BYTES + length
    return readDescription(await plain.slice(LENGTH_BYTES, start).text(), plain.slice(start))
  } catch (cause) {
    throw new WrongLinkKey(undefined, { cause })
  }
}

/** Reads what somebody else may have written in any way, and leaves out what is no part of a copy. */
function readDescription(text: string, files: Blob): SharedCopy {
  const { format, title, sharedAt, instructions, messages } = JSON.parse(text) as Record<string, unknown>
  if (format !== FORMAT || !Array.isArray(messages)) throw new Error('This is no copy of a conversation.')
  const reader = new FileReader(files)
  return {
    title: toText(title),
    sharedAt: toText(sharedAt),
    instructions: toText(instructions),
    messages: messages.filter(isRecord).map((message) => readMessage(message, reader)),
  }
}

function readMessage(message: Record<string, unknown>, reader: FileReader): SharedMessage {
  const { role, model, modelLabel, answer, files, omittedFiles, createdAt } = message
  return {
    role: role === 'assistant' ? 'assistant' : 'user',
    model: typeof model === 'string' ? model : null,
    modelLabel: toText(modelLabel),
    answer: toSharedAnswer(parseAnswer(JSON.stringify(answer ?? {}))),
    files: (Array.isArray(files) ? files : []).filter(isRecord).map((file) => reader.take(file)),
    omittedFiles: Number.isSafeInteger(omittedFiles) ? Number(omittedFiles) : 0,
    createdAt: toText(createdAt),
  }
}

/** Takes the files one after the other, as they stand behind the description. */
class FileReader {
  readonly #files: Blob
  #at = 0

  constructor(files: Blob) {
    this.#files = files
  }

  take({ name, mime, bytes }: Record<string, unknown>): SharedFile {
    const size = Number.isSafeInteger(bytes) ? Math.max(0, Number(bytes)) : 0
    const start = this.#at
    this.#at += size
    const type = toText(mime)
    return { name: toText(name), mime: type, content: this.#files.slice(start, start + size, type) }
  }
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : '')
