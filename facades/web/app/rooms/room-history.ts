import { SvcError } from '../../../client/index.ts'
import type { RoomKeys } from '../../browser/crypto.ts'
import { api } from '../shared/api/client.ts'
import { asPage, MAX_SINGLE_READS, type Room, type StoredRoomMessage } from './room.ts'
import type { MessageOpener, RoomMessage } from './room-message.ts'

/** Messages of a page as they are looked at, and of one on the way to an earlier message. */
const [PAGE_SIZE, LARGE_PAGE] = [50, 200]

/** The messages of a room as they are shown; other objects once one has changed. */
export interface ShownMessages {
  /** Messages that reply to none, in their order. */
  messages: readonly RoomMessage[]
  /** All messages by their ids. */
  byId: ReadonlyMap<string, RoomMessage>
}

interface RoomHistoryOptions {
  opener: MessageOpener
  /** The room as it is known now, and its keys. */
  getCurrent: () => { room: Room | undefined; keys: RoomKeys }
  /** Hears of a message that is stored, by the word that its sender knows it by. */
  onStored: (clientId: string) => void
}

/** The messages of a room, opened as far as they are read: from the newest one back. */
export class RoomHistory {
  readonly #options: RoomHistoryOptions
  readonly #messages = new Map<string, RoomMessage>()
  #shown: ShownMessages | undefined
  /** The id down to which everything is read. */
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

  /** The id of the newest message; 0 where there is none. */
  get newestId(): number {
    return this.#messages.keys().reduce((newest, id) => Math.max(newest, Number(id)), 0)
  }

  some(matches: (message: RoomMessage) => boolean): boolean {
    return this.#messages.values().some(matches)
  }

  findByClientId(clientId: string): RoomMessage | undefined {
    return this.#messages.values().find((each) => each.clientId === clientId)
  }

  forget(): void {
    this.#messages.clear()
    this.#shown = undefined
    this.#oldestReadId = Number.POSITIVE_INFINITY
  }

  async readNewest(): Promise<ReadonlySet<string>> {
    return this.#readPage(1, PAGE_SIZE)
  }

  /** Reads the messages before those that are there. */
  async readEarlier(size = PAGE_SIZE): Promise<void> {
    const count = this.#messages.keys().reduce((sum, id) => sum + (Number(id) >= this.#oldestReadId ? 1 : 0), 0)
    await this.#readPage(Math.floor(count / size) + 1, size)
  }

  /** Reads the messages back to one, though no more than so many. */
  async readBackTo(id: number, most: number, signal: AbortSignal): Promise<void> {
    for (let read = 0; read < most && this.hasEarlier && this.#oldestReadId > id; read += LARGE_PAGE) {
      if (signal.aborted) return
      await this.readEarlier(LARGE_PAGE)
    }
  }

  /** Reads what was replied to a message. */
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

  /** Reads messages that have changed. Many at once make one read of the newest, as most of them are new. */
  async readChanged(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const readIds = ids.length > MAX_SINGLE_READS ? await this.readNewest() : new Set()
    const found = await Promise.all(ids.filter((id) => !readIds.has(id)).map(readMessage))
    await this.#addMessages(found.filter((each) => each !== undefined))
  }

  /** Opens what was closed for want of a key. */
  async reopenUnreadable(): Promise<void> {
    const { keys, room } = this.#options.getCurrent()
    for (const message of this.#messages.values())
      if (message.unreadable !== undefined && keys.has(message.keyEpoch))
        this.#setMessage(await this.#options.opener.reopen(message, keys, room?.sharesEarlierKeys ?? true))
  }

  /** Returns the ids of what it has read. */
  async #readPage(number: number, size: number): Promise<ReadonlySet<string>> {
    const { items, total } = await asPage<StoredRoomMessage>(
      api.rooms.related.query({
        id: this.#options.getCurrent().room?.id ?? '',
        relation: 'messages',
        include: ['attachments', 'member'],
        sort: ['-id'],
        page: { size, number },
      }),
    )
    this.#total = total
    await this.#addMessages(items)
    const ids = items.map((each) => each.id)
    this.#oldestReadId = items.length < size ? 0 : Math.min(this.#oldestReadId, ...ids.map(Number))
    return new Set(ids)
  }

  async #addMessages(stored: readonly StoredRoomMessage[]): Promise<void> {
    const { keys, room } = this.#options.getCurrent()
    const shares = room?.sharesEarlierKeys ?? true
    const opened = await Promise.all(stored.map((each) => this.#options.opener.open(each, keys, shares)))
    for (const message of opened) {
      this.#setMessage(message)
      if (message.clientId !== null) this.#options.onStored(message.clientId)
    }
  }

  #setMessage(message: RoomMessage): void {
    this.#messages.set(message.id, message)
    this.#shown = undefined
  }
}

function listMessages(byId: ReadonlyMap<string, RoomMessage>): ShownMessages {
  const messages = [...byId.values()].filter(({ thread }) => thread === null)
  return { messages: messages.toSorted((one, other) => one.seq - other.seq), byId: new Map(byId) }
}

/** Nothing where there is no such message any more. */
async function readMessage(id: string): Promise<StoredRoomMessage | undefined> {
  try {
    return await api.roomMessages.get.query({ id, include: ['attachments', 'member'] })
  } catch (error) {
    if (error instanceof SvcError && error.status === 404) return undefined
    throw error
  }
}
