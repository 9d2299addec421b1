import {
  CannotOpen,
  importKey,
  type Key,
  Malformed,
  openMessage,
  type RoomKeys,
  readSealed,
  roomAiKey,
  type Salts,
  unseal,
} from '../../browser/crypto.ts'
import { getRelatedId } from '../shared/api/related.ts'
import { parseAnswer, type Source } from '../shared/conversation/answer.ts'
import type { RoomFile, StoredRoomMessage } from './room.ts'

/**
 * The reason why a message cannot be decrypted: its key is missing, it is older than the membership, or it is damaged.
 */
export type UnreadableReason = 'missing' | 'earlier' | 'damaged'

/** A message of a room, decrypted where possible. */
export interface RoomMessage {
  id: string
  seq: number
  subSeq: number
  clientId: string | null
  /** The id of the author's membership. */
  member: string
  authorName: string
  /** The path of the author's picture, also if they have left the room. */
  authorPicture: string | null
  /** The id of the message that it replies to. */
  thread: string | null
  text: string
  sources: Source[]
  model: string | null
  /** The assistant that was asked, with its version, as in `helper@3`; null if a model was. */
  assistant: string | null
  unreadable?: UnreadableReason | undefined
  isDeleted: boolean
  files: RoomFile[]
  replyCount: number
  keyEpoch: number
  createdAt: string
  editedAt: string | null
  /** The stored content, which is decrypted once its key arrives. */
  content: string | null
}

/** The encrypted content of a message or an answer. */
export type SealedText = Pick<RoomMessage, 'keyEpoch' | 'model'> & { content: string }

/** Decrypts the messages of one room. */
export class MessageOpener {
  readonly #slug: string
  readonly #salts: Salts
  readonly #aiKeys = new Map<number, Promise<Key>>()

  constructor(slug: string, salts: Salts) {
    this.#slug = slug
    this.#salts = salts
  }

  async open(stored: StoredRoomMessage, keys: RoomKeys, sharesEarlierKeys: boolean): Promise<RoomMessage> {
    const [seq = 0, subSeq = 0] = stored.number.split('.').map(Number)
    const { id, clientId, model, content, keyEpoch, createdAt, editedAt } = stored
    const message: RoomMessage = {
      id,
      seq,
      subSeq,
      clientId,
      model,
      assistant: readAssistant(stored),
      content,
      keyEpoch,
      createdAt,
      editedAt,
      member: getRelatedId(stored, 'member') ?? '',
      ...getAuthor(stored),
      thread: getRelatedId(stored, 'thread'),
      isDeleted: stored.deletedAt !== null,
      files: getFiles(stored),
      replyCount: stored.replyCount,
      text: '',
      sources: [],
    }
    return this.reopen(message, keys, sharesEarlierKeys)
  }

  /** Decrypts the content, if there is any and its key is known. */
  async reopen(message: RoomMessage, keys: RoomKeys, sharesEarlierKeys: boolean): Promise<RoomMessage> {
    const { content, keyEpoch, model } = message
    if (content === null) return message
    const key = keys.get(keyEpoch)
    if (key === undefined) {
      const isEarlier = [...keys.keys()].some((epoch) => epoch > keyEpoch)
      return { ...message, unreadable: isEarlier && !sharesEarlierKeys ? 'earlier' : 'missing' }
    }
    try {
      const decrypted =
        model === null ? { text: await openMessage(key, content), sources: [] } : await this.#openAnswer(key, message)
      return { ...message, ...decrypted, unreadable: undefined }
    } catch (error) {
      if (!(error instanceof CannotOpen) && !(error instanceof Malformed)) throw error
      return { ...message, unreadable: 'damaged' }
    }
  }

  /** Decrypts an answer, for which a key is derived from the room key. */
  async #openAnswer(key: string, { content, keyEpoch }: Pick<RoomMessage, 'content' | 'keyEpoch'>) {
    const plain = await unseal(await this.#deriveAiKey(key, keyEpoch), readSealed(content ?? ''))
    const { text, citations } = parseAnswer(plain)
    return { text, sources: citations }
  }

  async openText({ content, keyEpoch, model }: SealedText, keys: RoomKeys): Promise<string> {
    const key = keys.get(keyEpoch)
    if (key === undefined) throw new CannotOpen()
    return model === null ? openMessage(key, content) : (await this.#openAnswer(key, { content, keyEpoch })).text
  }

  /** Decrypts a part of a streaming answer, which does not name its key. The newest keys are tried first. */
  async openProgress(sealed: string, keys: RoomKeys): Promise<string> {
    for (const [keyEpoch, key] of [...keys].toSorted(([one], [other]) => other - one).slice(0, 2)) {
      const decrypted = await unseal(await this.#deriveAiKey(key, keyEpoch), readSealed(sealed)).catch(ignoreOtherKey)
      if (decrypted !== undefined) return decrypted
    }
    throw new CannotOpen()
  }

  #deriveAiKey(key: string, keyEpoch: number): Promise<Key> {
    const aiKey = this.#aiKeys.get(keyEpoch) ?? roomAiKey(key, this.#slug, this.#salts).then(importKey)
    this.#aiKeys.set(keyEpoch, aiKey)
    return aiKey
  }
}

function ignoreOtherKey(error: unknown): undefined {
  if (!(error instanceof CannotOpen)) throw error
}

function readAssistant({ metadata }: StoredRoomMessage): string | null {
  const assistant = metadata?.['assistant']
  return typeof assistant === 'string' ? assistant : null
}

function getFiles({ relations }: StoredRoomMessage): RoomFile[] {
  const files = relations?.['attachments']
  return Array.isArray(files) ? (files as RoomFile[]) : []
}

/** Returns the author's name and picture; erased people have none. */
function getAuthor({ relations }: StoredRoomMessage): Pick<RoomMessage, 'authorName' | 'authorPicture'> {
  const member = relations?.['member'] as { displayName?: string | null; avatar?: string | null } | undefined
  return { authorName: member?.displayName ?? '', authorPicture: member?.avatar ?? null }
}
