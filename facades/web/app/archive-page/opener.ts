import {
  CannotOpen,
  importKey,
  importPrivateKey,
  type Key,
  type KeychainEntry,
  type KeychainKey,
  Malformed,
  openFile,
  openMessage,
  openReaction,
  openStoredRoomKeys,
  type RoomKeys,
  readSealed,
  recover,
  roomAiKey,
  roomKeysIn,
  type Sealed,
  unlock,
  unseal,
  unsealEntry,
} from '../../browser/crypto.ts'
import { isRecord } from '../shared/local-store.ts'
import { openCopy, type SharedFile } from '../shared/shared-copy.ts'
import type { Archive, Row } from './archive.ts'

/** The entered text is neither the passkey nor the recovery code. */
export class WrongSecret extends Error {
  override readonly name = 'WrongSecret'
}

export interface Message {
  id: string
  author: 'self' | 'model' | 'instructions'
  at: string
  /** The message that the person has reacted to, if this is a reaction. */
  reactionTo?: 'own' | 'other'
  /** Undefined if it cannot be decrypted. */
  text: string | undefined
  /** The files in a copy that was shared. */
  files?: readonly SharedFile[]
}

/** A link to a copy of a conversation. */
export interface SharedLink {
  /** The name of the conversation. */
  name: string
  address: string
  sealedKey: string
  sharedAt: string
}

interface Conversation {
  name: string
  /** Absent in archives of earlier versions. */
  sealedName?: string | null
  updatedAt: string
}

interface ConversationMessage {
  role: 'user' | 'assistant'
  content: string | null
  seq: number
  subSeq: number
  createdAt: string
}

interface Reaction {
  content: string
  keyEpoch: number
  createdAt: string
}

interface RoomMessage {
  content: string | null
  keyEpoch: number
  model: string | null
  createdAt: string
}

export interface Room {
  name: string
  slug: string
}

/** Decrypts an archive with the passkey of its person. Nothing leaves the page. */
export class Opener {
  readonly #archive: Archive
  readonly #passkeyKey: KeychainKey
  readonly #keychain: readonly KeychainEntry[]
  readonly #roomKeys = new Map<string, Promise<RoomKeys>>()

  private constructor(archive: Archive, key: KeychainKey, keychain: readonly KeychainEntry[]) {
    this.#archive = archive
    this.#passkeyKey = key
    this.#keychain = keychain
  }

  /** Unlocks with the passkey, or with the recovery code that decrypts its backup. */
  static async unlock(archive: Archive, secret: string): Promise<Opener> {
    const keychain = (await archive.readAllRows<KeychainEntry>('user-keychain-values')).map(
      ({ attributes }) => attributes,
    )
    const passkeys = [secret, await findPasskey(archive, secret)]
    for (const passkey of passkeys) {
      if (!passkey) continue
      const key = await findPasskeyKey(archive, passkey, keychain)
      if (key) return new Opener(archive, key, keychain)
    }
    throw new WrongSecret()
  }

  /** Reads the conversations with their names, those that are encrypted in place of the others. */
  async readConversations(): Promise<Row<Conversation>[]> {
    const [key, rows] = await Promise.all([
      this.#conversationKey(),
      this.#archive.readAllRows<Conversation>('conversations'),
    ])
    return Promise.all(
      rows.map(async (row) => {
        const { name, sealedName } = row.attributes
        const opened = key && sealedName ? await ignoreUnreadable(unseal(key, readSealed(sealedName))) : undefined
        return { ...row, attributes: { ...row.attributes, name: opened ?? name } }
      }),
    )
  }

  /** Reads the messages of a conversation in order. */
  async readConversation(id: string): Promise<Message[]> {
    const key = await this.#conversationKey()
    const rows: Row<ConversationMessage>[] = []
    for await (const row of this.#archive.readRows<ConversationMessage>('conversation-messages'))
      if (getRelatedId(row, 'conversation') === id) rows.push(row)
    rows.sort(({ attributes: a }, { attributes: b }) => a.seq - b.seq || a.subSeq - b.subSeq)
    return Promise.all(
      rows.map(async ({ id, attributes: { role, content, createdAt } }) => ({
        id,
        author: role === 'user' ? ('self' as const) : ('model' as const),
        at: createdAt,
        text: content === null ? '' : key && (await ignoreUnreadable(unseal(key, readSealed(content)).then(readText))),
      })),
    )
  }

  /** Reads the links whose copies are in the archive, with the names of their conversations. */
  async readSharedLinks(): Promise<Row<SharedLink>[]> {
    const copies = this.#archive.manifest.sharedCopies ?? {}
    const [conversations, links] = await Promise.all([
      this.readConversations(),
      this.#archive.readAllRows<SharedLink>('shared-links'),
    ])
    return links
      .filter(({ attributes: { address } }) => address in copies)
      .map((row) => {
        const conversation = conversations.find(({ id }) => id === getRelatedId(row, 'conversation'))
        return { ...row, attributes: { ...row.attributes, name: conversation?.attributes.name ?? '' } }
      })
  }

  /** Decrypts the copy that a link leads to: its instructions, if they are in it, and its messages. */
  async readSharedCopy({ attributes: { address, sealedKey } }: Row<SharedLink>): Promise<Message[]> {
    const conversationKey = await this.#conversationKey()
    if (!conversationKey) throw new CannotOpen()
    const opened: unknown = JSON.parse(await unseal(conversationKey, readSealed(sealedKey)))
    const key = isRecord(opened) && typeof opened['key'] === 'string' ? opened['key'] : ''
    const copy = await openCopy(await this.#archive.readSharedCopy(address), key)
    const messages = copy.messages.map(({ role, answer: { text }, files, createdAt }, at) => ({
      id: String(at),
      author: role === 'user' ? ('self' as const) : ('model' as const),
      at: createdAt,
      text,
      files,
    }))
    const { instructions, sharedAt } = copy
    if (instructions === '') return messages
    return [{ id: 'instructions', author: 'instructions', at: sharedAt, text: instructions }, ...messages]
  }

  /** Reads the person's messages and reactions in a room in order. */
  async readRoom(room: Row<Room>): Promise<Message[]> {
    const messages = await this.#readRoomMessages(room)
    const own = new Set(messages.map(({ id }) => id))
    return [...messages, ...(await this.#readReactions(room, own))].sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
  }

  async #readReactions({ id, attributes: { slug } }: Row<Room>, own: ReadonlySet<string>): Promise<Message[]> {
    const keys = await this.#getRoomKeys(id, slug)
    const memberships = (await this.#archive.readAllRows('room-members'))
      .filter((row) => getRelatedId(row, 'room') === id)
      .map((row) => row.id)
    const reactions: Message[] = []
    for await (const row of this.#archive.readRows<Reaction>('room-reactions')) {
      if (!memberships.includes(getRelatedId(row, 'member') ?? '')) continue
      const { content, keyEpoch, createdAt } = row.attributes
      const message = getRelatedId(row, 'message') ?? ''
      const key = keys.get(keyEpoch)
      const text = key && (await ignoreUnreadable(openReaction(key, message, content)))
      const reactionTo = own.has(message) ? ('own' as const) : ('other' as const)
      reactions.push({ id: `reaction-${row.id}`, author: 'self', at: createdAt, text, reactionTo })
    }
    return reactions
  }

  async #readRoomMessages({ id, attributes: room }: Row<Room>): Promise<Message[]> {
    const keys = await this.#getRoomKeys(id, room.slug)
    const messages: Message[] = []
    for await (const row of this.#archive.readRows<RoomMessage>('room-messages')) {
      if (getRelatedId(row, 'room') !== id) continue
      const { content, createdAt, keyEpoch, model } = row.attributes
      const key = keys.get(keyEpoch)
      const text =
        content === null ? '' : key && (await ignoreUnreadable(this.#openInRoom(room.slug, key, content, model)))
      messages.push({ id: row.id, author: model === null ? 'self' : 'model', at: createdAt, text })
    }
    return messages
  }

  /** Reads and decrypts an uploaded file. */
  async readFile({ id, attributes, relationships }: Row<{ clientEncrypted: boolean; mime: string }>): Promise<Blob> {
    const stored = await this.#archive.readFile(id)
    if (!attributes.clientEncrypted) return stored
    const keys = await this.#findKeysOfMessage(relationships?.['message']?.data?.id)
    return new Response(stored.stream().pipeThrough(openFile(keys))).blob()
  }

  async #openInRoom(slug: string, key: string, content: string, model: string | null): Promise<string> {
    if (model === null) return openMessage(key, content)
    const aiKey = await importKey(await roomAiKey(key, slug, this.#archive.manifest.salts))
    return readText(await unseal(aiKey, readSealed(content)))
  }

  async #conversationKey(): Promise<Key | undefined> {
    const entry = this.#keychain.find(({ keyType }) => keyType === 'ai_conv')
    return entry && importKey(await unsealEntry(this.#passkeyKey, entry))
  }

  async #findKeysOfMessage(message: string | undefined): Promise<RoomKeys> {
    const rooms = await this.#archive.readAllRows<Room>('rooms')
    for await (const row of this.#archive.readRows('room-messages')) {
      const room = row.id === message && rooms.find(({ id }) => id === getRelatedId(row, 'room'))
      if (room) return this.#getRoomKeys(room.id, room.attributes.slug)
    }
    throw new CannotOpen()
  }

  #getRoomKeys(id: string, slug: string): Promise<RoomKeys> {
    const known = this.#roomKeys.get(id) ?? this.#readKeys(id, slug)
    this.#roomKeys.set(id, known)
    return known
  }

  /** Reads the keys in the keychain, and those that were wrapped for the person since. */
  async #readKeys(id: string, slug: string): Promise<RoomKeys> {
    const keychainKeys = await roomKeysIn(this.#passkeyKey, slug, this.#keychain)
    const entry = this.#keychain.find(({ keyType }) => keyType === 'private_key')
    if (!entry) return keychainKeys
    const [wrapped, epochs] = await Promise.all([
      this.#archive.readAllRows<{ epoch: number; wrappedKey: string }>('room-keys'),
      this.#archive.readAllRows<{ epoch: number; previousKey: string | null }>('room-key-epochs'),
    ])
    const stored = [
      ...wrapped.filter((row) => isKeyOf(row, id)).map(({ id, attributes }) => toStoredKey(id, attributes)),
      ...epochs.filter((row) => isKeyOf(row, id)).map(({ id, attributes }) => toStoredKey(id, attributes)),
    ]
    return openStoredRoomKeys(await importPrivateKey(await unsealEntry(this.#passkeyKey, entry)), stored, keychainKeys)
  }
}

/** Converts a row to a key. The last part of the row's id is the number of the key. */
const toStoredKey = (
  id: string,
  { wrappedKey = null, previousKey = null }: { wrappedKey?: string | null; previousKey?: string | null },
) => ({
  keyEpoch: Number(id.slice(id.lastIndexOf('-') + 1)),
  wrappedKey,
  previousKey,
})

const isKeyOf = (row: Row<unknown>, room: string) => getRelatedId(row, 'room') === room

const getRelatedId = ({ relationships }: Pick<Row, 'relationships'>, name: string) => relationships?.[name]?.data?.id

/** Decrypts the backup of the passkey, if the text is its recovery code. */
async function findPasskey(archive: Archive, code: string): Promise<string | undefined> {
  const { person, salts } = archive.manifest
  const [backup] = await archive.readAllRows<Sealed & { derivedWith: string | null }>('passkey-backups')
  if (!backup) return undefined
  const { derivedWith, ...sealed } = backup.attributes
  return ignoreUnreadable(recover(code, derivedWith ?? person.username, sealed, salts))
}

/** Derives the key of the keychain, in either form; undefined if the passkey is wrong. */
async function findPasskeyKey(
  archive: Archive,
  passkey: string,
  keychain: readonly KeychainEntry[],
): Promise<KeychainKey | undefined> {
  const entry = keychain.find(({ keyType }) => keyType === 'public_key')
  const [user] = await archive.readAllRows<{ publicKey: string | null }>('users')
  const publicKey = user?.attributes.publicKey
  if (!entry || publicKey == null) return undefined
  return unlock(passkey, { publicKey, validator: entry.value }, archive.manifest.salts)
}

async function ignoreUnreadable<T>(opened: Promise<T>): Promise<T | undefined> {
  try {
    return await opened
  } catch (error) {
    if (error instanceof CannotOpen || error instanceof Malformed) return undefined
    throw error
  }
}

/** Reads the text of an answer, which is stored as JSON. */
function readText(plain: string): string {
  try {
    const { text } = JSON.parse(plain) as { text?: unknown }
    if (typeof text === 'string') return text
  } catch {
    // Some answers are stored as plain text.
  }
  return plain
}
