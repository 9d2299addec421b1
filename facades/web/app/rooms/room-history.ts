import { SvcError } from '../../../client/index.ts'
import type { RoomKeys } from '../../browser/crypto.ts'
import { api } from '../shared/api/client.ts'
import { asPage, MAX_SINGLE_READS, type Room, type StoredRoomMessage } from './room.ts'
import type { MessageOpener, RoomMessage } from './room-message.ts'

/** The page size while reading, and while loading back to an earlier message. */
const [PAGE_SIZE, LARGE_PAGE] = [50, 200]

/** The messages to show. Both collections are new objects after each change. */
export interface ShownMessages {
  /** The messages outside of threads, in order. */
  messages: readonly RoomMessage[]
  /** All messages by id. */
  byId: ReadonlyMap<string, RoomMessage>
}

interface RoomHistoryOptions {
  opener: MessageOpener
  /** Returns the current state of the room and its keys. */
  getCurrent: () => { room: Room | undefined; keys: RoomKeys }
  /** Returns the name of a member; an empty one if it is not known. */
  getMemberName: (member: string) => string
  /** Is called with the client id of each stored message. */
  onStored: (clientId: string) => void
}

/** The decrypted messages of a room, read from the newest one back. */
export class RoomHistory {
  readonly #options: RoomHistoryOptions
  readonly #messages = new Map<string, RoomMessage>()
  #shown: ShownMessages | undefined
  /** The id of the oldest message of the range that is read without gaps. */
  #oldestReadId = Number.POSITIVE_INFINITY
  #total = 0

  constructor(options: RoomHistoryOptions) {
    this.#options = options
  }

  get shown(): ShownMessages {
    this.#shown ??= listMessages(this.#messages)
    return this.#shown
  }

  get hasEarlier(): boolean {
    return this.#oldestReadId > 0 && this.#total > this.#messages.size
  }

  /** The id of the newest message; 0 if there is none. */
  get newestId(): number {
    return this.#messages.keys().reduce((newest, id) => Math.max(newest, Number(id)), 0)
  }

  /** The ids of all messages. */
  get ids(): Iterable<string> {
    return this.#messages.keys()
  }

  some(isMatch: (message: RoomMessage) => boolean): boolean {
    return this.#messages.values().some(isMatch)
  }

  findByClientId(clientId: string): RoomMessage | undefined {
    return this.#messages.values().find((each) => each.clientId === clientId)
  }

  forget(): void {
    this.#messages.clear()
    this.#shown = undefined
    this.#oldestReadId = Number.POSITIVE_INFINITY
  }

  /** Replaces all messages by the newest page, in one step once it is read. */
  async readAgain(): Promise<void> {
    const page = await this.#fetchPage(1, PAGE_SIZE)
    const messages = await this.#decrypt(page.items)
    this.forget()
    this.#setMessages(messages)
    this.#recordPage(page, PAGE_SIZE)
  }

  async readNewest(): Promise<ReadonlySet<string>> {
    return this.#readPage(1, PAGE_SIZE)
  }

  /** Reads the page before the oldest message. */
  async readEarlier(size = PAGE_SIZE): Promise<void> {
    const count = this.#messages.keys().reduce((sum, id) => sum + (Number(id) >= this.#oldestReadId ? 1 : 0), 0)
    await this.#readPage(Math.floor(count / size) + 1, size)
  }

  /** Reads back to a message, but at most so many messages. */
  async readBackTo(id: number, maxMessages: number, signal: AbortSignal): Promise<void> {
    for (let read = 0; read < maxMessages && this.hasEarlier && this.#oldestReadId > id; read += LARGE_PAGE) {
      if (signal.aborted) return
      await this.readEarlier(LARGE_PAGE)
    }
  }

  /** Reads the replies to a message. */
  async readReplies(id: string): Promise<void> {
    for (let number = 1; ; number++) {
      const { items, total } = await asPage<StoredRoomMessage>(
        api.roomMessages.related.query({
          id,
          relation: 'replies',
          include: ['attachments', 'member'],
          page: { size: LARGE_PAGE, number },
        }),
      )
      await this.#addMessages(items)
      if (number * LARGE_PAGE >= total) break
    }
  }

  has(id: string): boolean {
    return this.#messages.has(id)
  }

  /** Adds messages that came with a change or as a result, and name their author by id, perhaps without their files. */
  async add(stored: readonly StoredRoomMessage[]): Promise<void> {
    const messages = await this.#decrypt(stored)
    const complete = (message: RoomMessage, at: number): RoomMessage => {
      const known = this.#messages.get(message.id)
      const files = stored[at]?.relations?.['attachments'] ? message.files : (known?.files ?? [])
      return { ...message, files, authorName: known?.authorName ?? this.#options.getMemberName(message.member) }
    }
    this.#setMessages(messages.map(complete))
  }

  /** Shows a message as deleted. */
  markDeleted(id: string): void {
    const message = this.#messages.get(id)
    if (!message) return
    const erased = { text: '', sources: [], files: [], content: null, unreadable: undefined }
    this.#setMessage({ ...message, ...erased, isDeleted: true })
  }

  /** Reads messages that have changed. For many at once it reads the newest page, as most of them are new. */
  async readChanged(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const readIds = ids.length > MAX_SINGLE_READS ? await this.readNewest() : new Set()
    const changed = await Promise.all(ids.filter((id) => !readIds.has(id)).map(readMessage))
    await this.#addMessages(changed.filter((each) => each !== undefined))
  }

  /** Decrypts messages whose key has arrived since. */
  async reopenUnreadable(): Promise<void> {
    const { keys, room } = this.#options.getCurrent()
    for (const message of this.#messages.values())
      if (message.unreadable !== undefined && keys.has(message.keyEpoch))
        this.#setMessage(await this.#options.opener.reopen(message, keys, room?.sharesEarlierKeys ?? true))
  }

  /** Returns the ids of the messages that it has read. */
  async #readPage(number: number, size: number): Promise<ReadonlySet<string>> {
    const page = await this.#fetchPage(number, size)
    await this.#addMessages(page.items)
    this.#recordPage(page, size)
    return new Set(page.items.map(({ id }) => id))
  }

  #fetchPage(number: number, size: number): Promise<MessagePage> {
    return asPage<StoredRoomMessage>(
      api.rooms.related.query({
        id: this.#options.getCurrent().room?.id ?? '',
        relation: 'messages',
        include: ['attachments', 'member'],
        sort: ['-id'],
        page: { size, number },
      }),
    )
  }

  /** Records how far back the messages are read without gaps. */
  #recordPage({ items, total }: MessagePage, size: number): void {
    this.#total = total
    this.#oldestReadId = items.length < size ? 0 : Math.min(this.#oldestReadId, ...items.map(({ id }) => Number(id)))
  }

  async #addMessages(stored: readonly StoredRoomMessage[]): Promise<void> {
    this.#setMessages(await this.#decrypt(stored))
  }

  #decrypt(stored: readonly StoredRoomMessage[]): Promise<RoomMessage[]> {
    const { keys, room } = this.#options.getCurrent()
    const shares = room?.sharesEarlierKeys ?? true
    return Promise.all(stored.map((each) => this.#options.opener.open(each, keys, shares)))
  }

  #setMessages(messages: readonly RoomMessage[]): void {
    for (const message of messages) {
      this.#setMessage(message)
      if (message.clientId !== null) this.#options.onStored(message.clientId)
    }
  }

  #setMessage(message: RoomMessage): void {
    this.#messages.set(message.id, message)
    this.#shown = undefined
  }
}

type MessagePage = Awaited<ReturnType<typeof asPage<StoredRoomMessage>>>

function listMessages(byId: ReadonlyMap<string, RoomMessage>): ShownMessages {
  const messages = [...byId.values()].filter(({ thread }) => thread === null)
  return { messages: messages.toSorted((one, other) => one.seq - other.seq), byId: new Map(byId) }
}

/** Returns undefined if the message does not exist any more. */
async function readMessage(id: string): Promise<StoredRoomMessage | undefined> {
  try {
    return await api.roomMessages.get.query({ id, include: ['attachments', 'member'] })
  } catch (error) {
    if (error instanceof SvcError && error.status === 404) return undefined
    throw error
  }
}
