import { SvcError } from '../../../client/index.ts'
import { openMessage, type RoomKeys, sealMessage } from '../../browser/crypto.ts'
import { api } from '../shared/api/client.ts'
import type { Room } from './room.ts'

/** A message that is not at the service yet. */
export interface OutgoingMessage {
  letter: Letter
  text: string
  state: 'sending' | 'waiting' | 'failed'
  error?: unknown
}

/** More messages wait than are kept. */
export class TooManyWaiting extends Error {
  override readonly name = 'TooManyWaiting'
}

const RETRY_MS = 3000

/** The room that messages go to. */
export interface Destination {
  outbox: Outbox
  /** The room as it is known now, and its keys. */
  current: () => { room: Room; keys: RoomKeys } | undefined
  /** Reads the room and its keys anew. */
  refresh: () => Promise<void>
  /** Takes a message that is stored. */
  stored: (id: string) => Promise<void>
  /** Shows what has changed. */
  show: () => void
}

/** Sends messages one after the other, in the order in which they were written, and each of them once. */
export class MessageSender {
  readonly #to: Destination
  #outgoing: OutgoingMessage[] = []
  #isSending = false
  #isStopped = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(to: Destination) {
    this.#to = to
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
    const { room, key } = this.#writable()
    if (this.#outgoing.length >= MAX_WAITING) throw new TooManyWaiting()
    const letter: Letter = {
      clientId: crypto.randomUUID(),
      content: text === '' ? null : await sealMessage(key, text),
      keyEpoch: room.keyEpoch,
      thread,
      attachments,
      writtenAt: new Date().toISOString(),
    }
    this.#to.outbox.put(letter)
    this.#outgoing = [...this.#outgoing, { letter, text, state: 'sending' }]
    this.#to.show()
    void this.#sendAll()
    return letter.clientId
  }

  async edit(id: string, text: string): Promise<void> {
    const { room, key } = this.#writable()
    const content = await sealMessage(key, text)
    await api.roomMessages.update.mutate({ id, content, keyEpoch: room.keyEpoch })
    await this.#to.stored(id)
    this.#to.show()
  }

  retry(clientId: string): void {
    this.#mark(clientId, { state: 'sending', error: undefined })
    void this.#sendAll()
  }

  discard(clientId: string): void {
    this.#to.outbox.remove(clientId)
    this.forget(clientId)
    this.#to.show()
  }

  /** Takes a message out of the queue that is stored. */
  forget(clientId: string | null): void {
    this.#outgoing = this.#outgoing.filter(({ letter }) => letter.clientId !== clientId)
  }

  isWaitingFor(clientId: string): boolean {
    return this.#outgoing.some(({ letter, state }) => letter.clientId === clientId && state !== 'failed')
  }

  /** Sends what was written before a reload. */
  async resume(): Promise<void> {
    const known = new Set(this.#outgoing.map(({ letter }) => letter.clientId))
    for (const letter of this.#to.outbox.list()) {
      if (known.has(letter.clientId)) continue
      const key = this.#to.current()?.keys.get(letter.keyEpoch)
      const text = letter.content && key ? await openMessage(key, letter.content).catch(() => '') : ''
      this.#outgoing = [...this.#outgoing, { letter, text, state: 'sending' }]
    }
    void this.#sendAll()
  }

  #writable(): { room: Room; key: string } {
    const { room, keys } = this.#to.current() ?? {}
    const key = room && keys?.get(room.keyEpoch)
    if (!room || key === undefined) throw new Error('There is no key to write with.')
    return { room, key }
  }

  readonly #sendWaiting = () => {
    this.#outgoing = this.#outgoing.map((each) => (each.state === 'waiting' ? { ...each, state: 'sending' } : each))
    this.#to.show()
    void this.#sendAll()
  }

  async #sendAll(): Promise<void> {
    if (this.#isSending) return
    this.#isSending = true
    try {
      for (;;) {
        const next = this.#outgoing.find(({ state }) => state === 'sending')
        if (!next || this.#isStopped) return
        await this.#sendOne(next.letter)
      }
    } finally {
      this.#isSending = false
    }
  }

  async #sendOne(letter: Letter): Promise<void> {
    const { room, keys } = this.#to.current() ?? {}
    try {
      if (!room || !keys) throw new Error('There is no room to send to.')
      const { clientId, content, keyEpoch, thread, attachments } = await resealLetter(letter, keys, room.keyEpoch)
      const message = { room: room.id, clientId, content, keyEpoch, thread, attachments }
      const { id } = await api.roomMessages.create.mutate(message)
      this.#to.outbox.remove(clientId)
      await this.#to.stored(id)
      this.forget(clientId)
      this.#to.show()
    } catch (error) {
      await this.#takeFailure(letter, error)
    }
  }

  async #takeFailure(letter: Letter, error: unknown): Promise<void> {
    const status = error instanceof SvcError ? error.status : undefined
    if (error instanceof SvcError && (status === undefined || status === 503 || status === 429)) return this.#wait()
    if (status === 409 && (await this.#getsNewKey(letter))) return
    this.#mark(letter.clientId, { state: 'failed', error })
  }

  /** Nothing passes what was written before it. */
  #wait(): void {
    this.#outgoing = this.#outgoing.map((each) => (each.state === 'sending' ? { ...each, state: 'waiting' } : each))
    this.#to.show()
    clearTimeout(this.#timer)
    if (!this.#isStopped) this.#timer = setTimeout(this.#sendWaiting, RETRY_MS)
  }

  /** Whether another key is in use by now, with which it is sealed anew. */
  async #getsNewKey(letter: Letter): Promise<boolean> {
    await this.#to.refresh().catch(() => {})
    const { room, keys } = this.#to.current() ?? {}
    if (!room || !keys?.has(room.keyEpoch) || room.keyEpoch === letter.keyEpoch) return false
    const sealed = await resealLetter(letter, keys, room.keyEpoch)
    this.#to.outbox.put(sealed)
    this.#outgoing = this.#outgoing.map((each) =>
      each.letter.clientId === letter.clientId ? { ...each, letter: sealed } : each,
    )
    return true
  }

  #mark(clientId: string, change: Partial<OutgoingMessage>): void {
    this.#outgoing = this.#outgoing.map((each) => (each.letter.clientId === clientId ? { ...each, ...change } : each))
    this.#to.show()
  }
}

/** Messages that wait at most. */
const MAX_WAITING = 50

/** A message that is still to be sent, sealed as it will be stored. */
interface Letter {
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
  list(): Letter[] {
    return JSON.parse(localStorage.getItem(this.#slot) ?? '[]') as Letter[]
  }

  put(letter: Letter): void {
    const others = this.list()
    const at = others.findIndex(({ clientId }) => clientId === letter.clientId)
    this.#write(at === -1 ? [...others, letter] : others.with(at, letter))
  }

  remove(clientId: string): void {
    this.#write(this.list().filter((each) => each.clientId !== clientId))
  }

  #write(letters: readonly Letter[]): void {
    if (letters.length === 0) localStorage.removeItem(this.#slot)
    else localStorage.setItem(this.#slot, JSON.stringify(letters))
  }
}

/** The same message, sealed with the key that is in use now. */
async function resealLetter(letter: Letter, keys: RoomKeys, keyEpoch: number): Promise<Letter> {
  const [before, now] = [keys.get(letter.keyEpoch), keys.get(keyEpoch)]
  if (letter.keyEpoch === keyEpoch || letter.content === null || before === undefined || now === undefined)
    return letter
  return { ...letter, keyEpoch, content: await sealMessage(now, await openMessage(before, letter.content)) }
}
