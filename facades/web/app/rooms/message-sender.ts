import { SvcError } from '../../../client/index.ts'
import { openMessage, type RoomKeys, sealMessage } from '../../browser/crypto.ts'
import { api } from '../shared/api/client.ts'
import { isRecord, readStored, writeStored } from '../shared/local-store.ts'
import type { Room, StoredRoomMessage } from './room.ts'

/** A message that is not stored yet. */
export interface OutgoingMessage {
  queued: QueuedMessage
  text: string
  state: 'sending' | 'waiting' | 'failed'
  error?: unknown
}

/** The outbox has reached its largest number of messages. */
export class OutboxFull extends Error {
  override readonly name = 'OutboxFull'
}

const RETRY_MS = 3000

export interface SenderOptions {
  outbox: Outbox
  /** Returns the current state of the room and its keys. */
  getCurrent: () => { room: Room; keys: RoomKeys } | undefined
  /** Reads the room and its keys again, and gives it the new key that it may need. */
  refreshKeys: () => Promise<void>
  /** Adds a message to the history, as the service has stored it. */
  onStored: (stored: StoredRoomMessage, hasFiles: boolean) => Promise<void>
  /** Makes a change of a stored message. */
  change: (id: string, call: () => Promise<StoredRoomMessage>) => Promise<StoredRoomMessage>
  onChange: () => void
}

/** Sends messages in order, each exactly once. */
export class MessageSender {
  readonly #options: SenderOptions
  #outgoing: OutgoingMessage[] = []
  #isSending = false
  #isStopped = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(options: SenderOptions) {
    this.#options = options
    addEventListener('online', this.#sendWaiting)
  }

  get outgoing(): readonly OutgoingMessage[] {
    return this.#outgoing
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
    removeEventListener('online', this.#sendWaiting)
  }

  /** Encrypts a message and queues it; returns its client id. */
  async send(text: string, attachments: string[], thread: string | null): Promise<string> {
    const { room, key } = this.#getWriteKey()
    if (this.#outgoing.length >= MAX_QUEUED) throw new OutboxFull()
    const queued: QueuedMessage = {
      clientId: crypto.randomUUID(),
      content: text === '' ? null : await sealMessage(key, text),
      keyEpoch: room.keyEpoch,
      thread,
      attachments,
      writtenAt: new Date().toISOString(),
    }
    this.#options.outbox.put(queued)
    this.#outgoing = [...this.#outgoing, { queued, text, state: 'sending' }]
    this.#options.onChange()
    void this.#sendAll()
    return queued.clientId
  }

  async edit(id: string, text: string): Promise<void> {
    const { room, key } = this.#getWriteKey()
    const content = await sealMessage(key, text)
    const update = () => api.roomMessages.update.mutate({ id, content, keyEpoch: room.keyEpoch })
    try {
      await this.#options.onStored(await this.#options.change(id, update), false)
    } catch (error) {
      if (!isKeyRefused(error) || !(await this.#getNewKey(room.keyEpoch))) throw error
      return this.edit(id, text)
    }
    this.#options.onChange()
  }

  retry(clientId: string): void {
    this.#update(clientId, { state: 'sending', error: undefined })
    void this.#sendAll()
  }

  discard(clientId: string): void {
    this.#options.outbox.remove(clientId)
    this.forget(clientId)
    this.#options.onChange()
  }

  /** Removes a stored message from the queue. */
  forget(clientId: string | null): void {
    this.#outgoing = this.#outgoing.filter(({ queued }) => queued.clientId !== clientId)
  }

  isWaitingFor(clientId: string): boolean {
    return this.#outgoing.some(({ queued, state }) => queued.clientId === clientId && state !== 'failed')
  }

  /** Queues the messages that were written before a reload. */
  async resume(): Promise<void> {
    const queuedIds = new Set(this.#outgoing.map(({ queued }) => queued.clientId))
    for (const queued of this.#options.outbox.list()) {
      if (queuedIds.has(queued.clientId)) continue
      const key = this.#options.getCurrent()?.keys.get(queued.keyEpoch)
      const text = queued.content && key ? await openMessage(key, queued.content).catch(() => '') : ''
      this.#outgoing = [...this.#outgoing, { queued, text, state: 'sending' }]
    }
    void this.#sendAll()
  }

  #getWriteKey(): { room: Room; key: string } {
    const { room, keys } = this.#options.getCurrent() ?? {}
    const key = room && keys?.get(room.keyEpoch)
    if (!room || key === undefined) throw new Error('There is no key to write with.')
    return { room, key }
  }

  readonly #sendWaiting = () => {
    this.#outgoing = this.#outgoing.map((each) => (each.state === 'waiting' ? { ...each, state: 'sending' } : each))
    this.#options.onChange()
    void this.#sendAll()
  }

  async #sendAll(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    try {
      for (;;) {
        const next = this.#outgoing.find(({ state }) => state === 'sending')
        if (!next || this.#isStopped) return
        await this.#sendOne(next.queued)
      }
    } finally {
      this.#isSending = false
    }
  }

  async #sendOne(queued: QueuedMessage): Promise<void> {
    const { room, keys } = this.#options.getCurrent() ?? {}
    try {
      if (!room || !keys) throw new Error('There is no room to send to.')
      const { clientId, content, keyEpoch, thread, attachments } = await resealMessage(queued, keys, room.keyEpoch)
      const message = { room: room.id, clientId, content, keyEpoch, thread, attachments }
      const stored = await api.roomMessages.create.mutate(message)
      this.#options.outbox.remove(clientId)
      await this.#options.onStored(stored, attachments.length > 0)
      this.forget(clientId)
      this.#options.onChange()
    } catch (error) {
      await this.#handleFailure(queued, error)
    }
  }

  async #handleFailure(queued: QueuedMessage, error: unknown): Promise<void> {
    const status = error instanceof SvcError ? error.status : undefined
    if (error instanceof SvcError && (status === undefined || status === 503 || status === 429))
      return this.#pauseSending()
    if (status === 409 && (await this.#resealWithNewKey(queued))) return
    if (isKeyRefused(error)) return this.#pauseSending()
    this.#update(queued.clientId, { state: 'failed', error })
  }

  /** Stops at the first message that cannot be sent, so that the order is kept. */
  #pauseSending(): void {
    this.#outgoing = this.#outgoing.map((each) => (each.state === 'sending' ? { ...each, state: 'waiting' } : each))
    this.#options.onChange()
    clearTimeout(this.#timer)
    if (!this.#isStopped) this.#timer = setTimeout(this.#sendWaiting, RETRY_MS)
  }

  /** Encrypts the message again if the room has another key by now; returns false otherwise. */
  async #resealWithNewKey(queued: QueuedMessage): Promise<boolean> {
    const current = await this.#getNewKey(queued.keyEpoch)
    if (!current) return false
    const sealed = await resealMessage(queued, current.keys, current.room.keyEpoch)
    this.#options.outbox.put(sealed)
    this.#outgoing = this.#outgoing.map((each) =>
      each.queued.clientId === queued.clientId ? { ...each, queued: sealed } : each,
    )
    return true
  }

  /** Returns the room with its keys if it has another key by now, which this person has, too. */
  async #getNewKey(keyEpoch: number): Promise<{ room: Room; keys: RoomKeys } | undefined> {
    await this.#options.refreshKeys().catch(() => {})
    const current = this.#options.getCurrent()
    return current?.keys.has(current.room.keyEpoch) && current.room.keyEpoch !== keyEpoch ? current : undefined
  }

  #update(clientId: string, change: Partial<OutgoingMessage>): void {
    this.#outgoing = this.#outgoing.map((each) => (each.queued.clientId === clientId ? { ...each, ...change } : each))
    this.#options.onChange()
  }
}

/** The service refuses what is encrypted with a key that a former member has. */
export const isKeyRefused = (error: unknown): boolean =>
  error instanceof SvcError && ['room_key_needed', 'key_epoch_outdated'].includes(error.code)

/** The most messages that can wait in the outbox. */
const MAX_QUEUED = 50

/** A queued message, encrypted as it will be stored. */
interface QueuedMessage {
  clientId: string
  content: string | null
  keyEpoch: number
  thread: string | null
  /** The ids of the uploaded files. */
  attachments: string[]
  writtenAt: string
}

const isQueue = (value: unknown): value is QueuedMessage[] => Array.isArray(value) && value.every(isQueuedMessage)

const isQueuedMessage = (value: unknown): value is QueuedMessage =>
  isRecord(value) &&
  typeof value['clientId'] === 'string' &&
  (value['content'] === null || typeof value['content'] === 'string') &&
  typeof value['keyEpoch'] === 'number' &&
  Array.isArray(value['attachments'])

/** The queues that the storage has no room for, by their storage keys. They go with the page. */
const unstoredQueues = new Map<string, readonly QueuedMessage[]>()

/** The queue of a room's messages, encrypted in the storage of this browser, so that it survives a reload. */
export class Outbox {
  readonly #storageKey: string

  constructor(owner: string, room: string) {
    this.#storageKey = `svc:outbox:${owner}:${room}`
  }

  /** Lists the messages in the order in which they were written. Other tabs may have added some. */
  list(): readonly QueuedMessage[] {
    return unstoredQueues.get(this.#storageKey) ?? readStored(this.#storageKey, isQueue) ?? []
  }

  put(queued: QueuedMessage): void {
    const others = this.list()
    const at = others.findIndex(({ clientId }) => clientId === queued.clientId)
    this.#write(at === -1 ? [...others, queued] : others.with(at, queued))
  }

  remove(clientId: string): void {
    this.#write(this.list().filter((each) => each.clientId !== clientId))
  }

  #write(messages: readonly QueuedMessage[]): void {
    if (messages.length === 0) localStorage.removeItem(this.#storageKey)
    if (messages.length === 0 || writeStored(this.#storageKey, messages)) unstoredQueues.delete(this.#storageKey)
    else unstoredQueues.set(this.#storageKey, messages)
  }
}

/** Encrypts a queued message again with the current key. */
async function resealMessage(queued: QueuedMessage, keys: RoomKeys, keyEpoch: number): Promise<QueuedMessage> {
  const [oldKey, newKey] = [keys.get(queued.keyEpoch), keys.get(keyEpoch)]
  if (queued.keyEpoch === keyEpoch || queued.content === null || oldKey === undefined || newKey === undefined)
    return queued
  return { ...queued, keyEpoch, content: await sealMessage(newKey, await openMessage(oldKey, queued.content)) }
}
