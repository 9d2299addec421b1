import { useSyncExternalStore } from 'react'
import { api } from '../../shared/api/client.ts'
import type { ConversationKey } from '../../shared/conversation-key.ts'
import { Listeners } from '../../shared/listeners.ts'
import { formatTimestamp } from '../../shared/text/formats.ts'
import { t } from '../../shared/text/labels.ts'
import { createWorkerFactory } from '../../shared/trusted-worker.ts'
import { refreshConversations } from '../conversations.ts'
import { serializeAnswer, truncateToBytes } from '../message-content.ts'
import type { ReadFailure } from './export-reader.ts'
import type { ImportReport, ImportRequest } from './import-worker.ts'
import workerAddress from './import-worker.ts?worker&url'
import type { ImportedConversation, ImportedMessage } from './imported-conversation.ts'

/** The largest file that is read. */
export const MAX_FILE_BYTES = 200 * 1024 ** 2

/** A conversation or file that was not imported, or not completely. */
export type ImportProblem =
  | { kind: ReadFailure | 'tooLargeFile'; name: string; position?: number | undefined }
  | ImportLoss

/** The progress of an import, which continues while another page is shown. */
export interface ImportState {
  phase: 'running' | 'done' | 'stopped' | 'failed'
  fileName: string
  /** From 0 to 1. */
  progress: number
  /** The number of imported conversations, and of those that had been imported before. */
  stored: number
  known: number
  problems: readonly ImportProblem[]
  /** The number of problems beyond those that are listed. */
  unlisted: number
  error?: unknown
}

const MAX_PROBLEMS = 500

let state: ImportState | undefined
let worker: Worker | undefined
const listeners = new Listeners()

function updateState(changes: Partial<ImportState>): void {
  if (state) state = { ...state, ...changes }
  listeners.notify()
}

function addProblem(problem: ImportProblem): void {
  if (!state) return
  const { problems, unlisted } = state
  updateState(problems.length < MAX_PROBLEMS ? { problems: [...problems, problem] } : { unlisted: unlisted + 1 })
}

function endImport(changes: Pick<ImportState, 'phase' | 'error'>): void {
  if (state?.phase !== 'running') return
  worker?.terminate()
  worker = undefined
  updateState(changes)
  void refreshConversations()
}

export const stopImport = (): void => endImport({ phase: 'stopped' })

/** Reads an export in a worker, and stores the conversations encrypted, one after the other. */
export function startImport(file: File, key: ConversationKey, quota: Quota): void {
  state = { phase: 'running', fileName: file.name, progress: 0, stored: 0, known: 0, problems: [], unlisted: 0 }
  updateState({})
  if (file.size > MAX_FILE_BYTES) {
    addProblem({ kind: 'tooLargeFile', name: file.name })
    endImport({ phase: 'done' })
    return
  }
  const reader = startWorker()
  worker = reader
  const send = (order: ImportRequest) => reader.postMessage(order)
  const isCurrent = () => worker === reader
  // The last conversation of a stopped import may fail after another import has begun.
  const end = (changes: Pick<ImportState, 'phase' | 'error'>) => {
    if (isCurrent()) endImport(changes)
  }
  reader.addEventListener('error', ({ error, message }) => end({ phase: 'failed', error: error ?? new Error(message) }))
  reader.addEventListener('message', async ({ data }: MessageEvent<ImportReport>) => {
    if (data.type === 'end') return end({ phase: 'done' })
    if (data.type === 'progress') return updateState({ progress: data.progress })
    if (data.type === 'failure') return addProblem({ kind: data.failure, name: data.file, position: data.position })
    try {
      await importConversation(data.conversation, key, quota, isCurrent)
      send('next')
    } catch (error) {
      end({ phase: 'failed', error })
    }
  })
  send({ file })
}

async function importConversation(
  conversation: ImportedConversation,
  key: ConversationKey,
  quota: Quota,
  isWanted: () => boolean,
) {
  const { outcome, losses } = await storeConversation(conversation, key, quota, isWanted)
  // A stopped import still counts what it was storing, unless another one has begun.
  if (worker !== undefined && !isWanted()) return
  for (const loss of losses) addProblem(loss)
  if (!state) return
  if (outcome === 'stored') updateState({ stored: state.stored + 1 })
  if (outcome === 'known') updateState({ known: state.known + 1 })
}

const startWorker = createWorkerFactory('import-worker', workerAddress)

/** Returns the last import of this page. */
export const useImport = (): ImportState | undefined => useSyncExternalStore(listeners.subscribe, () => state)

export type Quota = Awaited<ReturnType<typeof api.conversations.quota.query>>
type SealedMessage = Parameters<typeof api.conversations.import.mutate>[0]['messages'][number]

/** The part of a conversation that was not imported, or all of it. */
export interface ImportLoss {
  kind: 'empty' | 'tooMany' | 'unreadable' | 'shortened' | 'files'
  name: string
  count: number
}

/**
 * The most messages of a request, and the most characters of their encrypted texts. A request takes at least one
 * message of any size.
 */
const [MAX_MESSAGES, MAX_PART] = [500, 600_000]

/** The most characters of a name. */
const MAX_NAME = 120

interface StoredConversation {
  /** `known` if it was imported before; `left` if it is left out. */
  outcome: 'stored' | 'known' | 'left'
  /** Its name in addresses, unless it was left out. */
  slug?: string
  losses: ImportLoss[]
}

/** Stores a new conversation in as many requests as it needs. One that was stored before is left as it is. */
export async function storeConversation(
  conversation: ImportedConversation,
  key: ConversationKey,
  quota: Quota,
  isWanted: () => boolean = () => true,
): Promise<StoredConversation> {
  const { messages, unreadable, files } = conversation
  const datedName = t('app.chat.dated', { date: formatTimestamp(new Date(conversation.createdAt)) })
  const title = Array.from(conversation.title.trim()).slice(0, MAX_NAME).join('')
  const name = title || datedName
  if (messages.length === 0) return { outcome: 'left', losses: [{ kind: 'empty', name, count: unreadable }] }
  if (messages.length > quota.messages)
    return { outcome: 'left', losses: [{ kind: 'tooMany', name, count: messages.length }] }
  const sealer = new MessageSealer(key, quota.messageSize)
  const { createdAt, updatedAt } = conversation
  // Other programs see the date, as with a chat that is begun here.
  const sealedName = title === '' ? null : await key.seal(title)
  const head = { name: datedName, sealedName, createdAt, updatedAt, importId: await hashId(conversation.id) }
  let after = 0
  let storedSlug = ''
  for await (const part of sealer.sealInParts(messages)) {
    if (!isWanted()) return { outcome: 'left', losses: [] }
    const isWhole = after + part.length === messages.length
    const { isNew, slug } = await api.conversations.import.mutate({ ...head, after, messages: part, isWhole })
    if (!isNew) return { outcome: 'known', slug, losses: [] }
    storedSlug = slug
    after += part.length
  }
  const counts = { unreadable, shortened: sealer.shortened, files }
  const kinds = ['unreadable', 'shortened', 'files'] as const
  const losses = kinds.map((kind) => ({ kind, name, count: counts[kind] })).filter(({ count }) => count > 0)
  return { outcome: 'stored', slug: storedSlug, losses }
}

/** Hashes the id of the conversation, so that the service does not learn it. */
async function hashId(id: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(id)))
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

class MessageSealer {
  readonly #key: ConversationKey
  readonly #maxBytes: number
  shortened = 0

  /** Converts the limit of the service, in characters of base64, to bytes of plain text. */
  constructor(key: ConversationKey, messageSize: number) {
    this.#key = key
    this.#maxBytes = Math.floor((messageSize - OVERHEAD) / 4) * 3
  }

  async *sealInParts(messages: readonly ImportedMessage[]): AsyncGenerator<SealedMessage[]> {
    let part: SealedMessage[] = []
    let size = 0
    for (const message of messages) {
      const sealed = await this.#seal(message)
      if (part.length === MAX_MESSAGES || (part.length > 0 && size + sealed.content.length > MAX_PART)) {
        yield part
        part = []
        size = 0
      }
      part.push(sealed)
      size += sealed.content.length
    }
    yield part
  }

  async #seal({ role, model, answer, parent, createdAt }: ImportedMessage): Promise<SealedMessage> {
    const whole = role === 'user' ? answer.text : JSON.stringify(answer)
    const plain = role === 'user' ? truncateToBytes(whole, this.#maxBytes) : serializeAnswer(answer, this.#maxBytes)
    if (plain !== whole) this.shortened++
    const content = await this.#key.seal(plain)
    return { role, model, content, parent, createdAt, isComplete: answer.cut === undefined }
  }
}

/** Characters that encryption adds: the nonce and the authentication tag. */
const OVERHEAD = 64
