import { api } from '../../shared/api/client.ts'
import type { ConversationKey } from '../../shared/crypto/conversation-key.ts'
import { t, timeText } from '../../shared/text/labels.ts'
import { cutText, writeAnswer } from '../message-content.ts'
import type { ImportedConversation, ImportedMessage } from './imported.ts'

export type Quota = Awaited<ReturnType<typeof api.conversations.quota.query>>
type SealedMessage = Parameters<typeof api.conversations.import.mutate>[0]['messages'][number]

/** What of a conversation was not taken, or nothing of it. */
export interface Loss {
  kind: 'empty' | 'tooMany' | 'unreadable' | 'shortened' | 'files'
  name: string
  count: number
}

/** Messages of one request, and characters of their sealed texts: it takes at least one message of any size. */
const [MAX_MESSAGES, MAX_PART] = [500, 600_000]

/** Stores a conversation that is not there yet, in as many parts as it needs. */
export async function storeConversation(
  conversation: ImportedConversation,
  key: ConversationKey,
  quota: Quota,
  isWanted: () => boolean,
): Promise<{ outcome: 'stored' | 'known' | 'left'; losses: Loss[] }> {
  const { messages, unreadable, files } = conversation
  const name =
    conversation.title.trim().slice(0, 255) || t('app.chat.dated', { date: timeText(new Date(conversation.createdAt)) })
  if (messages.length === 0) return { outcome: 'left', losses: [{ kind: 'empty', name, count: unreadable }] }
  if (messages.length > quota.messages)
    return { outcome: 'left', losses: [{ kind: 'tooMany', name, count: messages.length }] }
  const sealer = new MessageSealer(key, quota.messageSize)
  const { createdAt, updatedAt } = conversation
  const head = { name, createdAt, updatedAt, importId: await hashId(conversation.id) }
  let after = 0
  for await (const part of sealer.sealInParts(messages)) {
    if (!isWanted()) return { outcome: 'left', losses: [] }
    const isWhole = after + part.length === messages.length
    const { isNew } = await api.conversations.import.mutate({ ...head, after, messages: part, isWhole })
    if (!isNew) return { outcome: 'known', losses: [] }
    after += part.length
  }
  const counts = { unreadable, shortened: sealer.shortened, files }
  const kinds = ['unreadable', 'shortened', 'files'] as const
  const losses = kinds.map((kind) => ({ kind, name, count: counts[kind] })).filter(({ count }) => count > 0)
  return { outcome: 'stored', losses }
}

/** The service is not told what a conversation was called elsewhere. */
async function hashId(id: string): Promise<string> {
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(id)))
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

class MessageSealer {
  readonly #key: ConversationKey
  readonly #maxBytes: number
  shortened = 0

  /** Of a sealed text the service takes so many characters: four for three bytes, and what opens it. */
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
    const plain = role === 'user' ? cutText(whole, this.#maxBytes) : writeAnswer(answer, this.#maxBytes)
    if (plain !== whole) this.shortened++
    const content = await this.#key.seal(plain)
    return { role, model, content, parent, createdAt, isComplete: answer.cut === undefined }
  }
}

/** Of a sealed text: what it was encrypted with, and the tag that proves it. */
const OVERHEAD = 64
