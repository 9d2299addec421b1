import { SvcError } from '../../../client/index.ts'
import { openMessage, type RoomKeys, sealMessage } from '../../browser/crypto.ts'
import { api } from '../shared/api/client.ts'
import type { Room } from './room.ts'

/** A message that is not at the service yet. */
export interface OutgoingMessage {
  queued: QueuedMessage
  text: string
  state: 'sending' | 'waiting' | 'failed'
  error?: unknown
}

/** More messages wait than are kept. */
export class OutboxFull extends Error {
  override readonly name = 'TooManyWaiting'
}

const RETRY_MS = 3000

/** The room that messages go to. */
export interface SenderOptions {
  outbox: Outbox
  /** The room as it is known now, and its keys. */
  getCurrent: () => { room: Room; keys: RoomKeys } | undefined
  /** Reads the room and its keys anew. */
  refresh: () => Promise<void>
  /** Takes a message that is stored. */
  onStored: (id: string) => Promise<void>
  /** Shows what has changed. */
  onChange: () => void
}

/** Sends messages one after the other, in the order in which they were written, and each of them once. */
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

  /** Seals a message and puts it in the queue; returns the word by which it is known from then on. */
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
    await api.roomMessages.update.mutate({ id, content, keyEpoch: room.keyEpoch })
    await this.#options.onStored(id)
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

  /** Takes a message out of the queue that is stored. */
  forget(clientId: string | null): void {
    this.#outgoing = this.#outgoing.filter(({ queued }) => queued.clientId !== clientId)
  }

  isWaitingFor(clientId: string): boolean {
    return this.#outgoing.some(({ queued, state }) => queued.clientId === clientId && state !== 'failed')
  }

  /** Sends what was written before a reload. */
  async resume(): Promise<void> {
    const known = new Set(this.#outgoing.map(({ queued }) => queued.clientId))
    for (const queued of this.#options.outbox.list()) {
      if (known.has(queued.clientId)) continue
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
      const { id } = await api.roomMessages.create.mutate(message)
      this.#options.outbox.remove(clientId)
      await this.#options.onStored(id)
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
    this.#update(queued.clientId, { state: 'failed', error })
  }

  /** Nothing passes what was written before it. */
  #pauseSending(): void {
    this.#outgoing = this.#outgoing.map((each) => (each.state === 'sending' ? { ...each, state: 'waiting' } : each))
    this.#options.onChange()
    clearTimeout(this.#timer)
    if (!this.#isStopped) this.#timer = setTimeout(this.#sendWaiting, RETRY_MS)
  }

  /** Whether another key is in use by now, with which it is sealed anew. */
  async #resealWithNewKey(queued: QueuedMessage): Promise<boolean> {
    await this.#options.refresh().catch(() => {})
    const { room, keys } = this.#options.getCurrent() ?? {}
    if (!room || !keys?.has(room.keyEpoch) || room.keyEpoch === queued.keyEpoch) return false
    const sealed = await resealMessage(queued, keys, room.keyEpoch)
    this.#options.outbox.put(sealed)
    this.#outgoing = this.#outgoing.map((each) =>
      each.queued.clientId === queued.clientId ? { ...each, queued: sealed } : each,
    )
    return true
  }

  #update(clientId: string, change: Partial<OutgoingMessage>): void {
    this.#outgoing = this.#outgoing.map((each) => (each.queued.clientId === clientId ? { ...each, ...change } : each))
    this.#options.onChange()
  }
}

/** Messages that wait at most. */
const MAX_QUEUED = 50

/** A message that is still to be sent, sealed as it will be stored. */
interface QueuedMessage {
  clientId: string
  content: string | null
  keyEpoch: number
  thread: string | null
  /** Ids of files that were uploaded for it. */
  attachments: string[]
  writtenAt: string
}

/** The messages of a room that wait to be sent. They lie sealed in this browser, so that a reload loses none. */
export class Outbox {
  readonly #slot: string

  constructor(owner: string, room: string) {
    this.#slot = `svc:outbox:${owner}:${room}`
  }

  /** In the order in which they were written; another tab may have added some. */
  list(): QueuedMessage[] {
    return JSON.parse(localStorage.getItem(this.#slot) ?? '[]') as QueuedMessage[]
  }

  put(queued: QueuedMessage): void {
    const others = this.list()
    const at = others.findIndex(({ clientId }) => clientId === queued.clientId)
    this.#write(at === -1 ? [...others, queued] : others.with(at, queued))
  }

  remove(clientId: string): void {
    this.#write(this.list().filter((each) => each.clientId !== clientId))
  }

  #write(letters: readonly QueuedMessage[]): void {
    if (letters.length === 0) localStorage.removeItem(this.#slot)
    else localStorage.setItem(this.#slot, JSON.stringify(letters))
  }
}

/** The same message, sealed with the key that is in use now. */
async function resealMessage(queued: QueuedMessage, keys: RoomKeys, keyEpoch: number): Promise<QueuedMessage> {
  const [before, now] = [keys.get(queued.keyEpoch), keys.get(keyEpoch)]
  if (queued.keyEpoch === keyEpoch || queued.content === null || before === undefined || now === undefined)
    return queued
  return { ...queued, keyEpoch, content: await sealMessage(now, await openMessage(before, queued.content)) }
}
