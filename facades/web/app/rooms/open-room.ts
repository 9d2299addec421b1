import { SvcError } from '../../../client/index.ts'
import { type Change, follow, type LiveStream, roomStream } from '../../../client/live/index.ts'
import { openRoomText, type RoomKeys, roomAiKey } from '../../browser/crypto.ts'
import { api, queryClient } from '../shared/api/client.ts'
import type { Session } from '../shared/session.tsx'
import { GrowingAnswers } from './growing-answers.ts'
import { type Keyring, keyringOf } from './keyring.ts'
import { MessageOpener, type RoomMessage } from './message-content.ts'
import { MessageSender, type OutgoingMessage } from './message-sender.ts'
import { Outbox } from './outbox.ts'
import {
  type Disclosure,
  type Member,
  mayWrite,
  ownId,
  type Room,
  readPage,
  relatedId,
  type StoredRoomMessage,
  saltsOf,
} from './room.ts'
import { overSocket } from './socket.ts'

/** How often what has come is shown at most. */
const SHOW_MS = 350
/** What comes within this time is read together. */
const BATCH_MS = 100
const RETRY_MS = 3000
/** Messages of a page as they are looked at, and of one on the way to an earlier message. */
const [PAGE_SIZE, LARGE_PAGE] = [50, 200]
/** Members and messages that are read one by one at most. */
const FEW = 5

/** A room as it is shown: always another object once something has changed. */
export interface RoomView {
  phase: 'opening' | 'open' | 'ended' | 'failed'
  error?: unknown
  room: Room | undefined
  keys: RoomKeys
  members: ReadonlyMap<string, Member>
  /** The membership of the person. */
  own: Member | undefined
  /** Messages that reply to none, in their order. */
  messages: readonly RoomMessage[]
  /** All messages by their ids. */
  byId: ReadonlyMap<string, RoomMessage>
  outgoing: readonly OutgoingMessage[]
  hasEarlier: boolean
  disclosures: readonly Disclosure[]
  /** Answers that go on, by their disclosures. */
  growing: GrowingAnswers['answers']
  description: string
  systemPrompt: string
  /** Up to where the person had read when the room was opened. */
  readAtOpening: number
}

const closedRoom: RoomView = {
  phase: 'opening',
  room: undefined,
  keys: new Map(),
  members: new Map(),
  own: undefined,
  messages: [],
  byId: new Map(),
  outgoing: [],
  hasEarlier: false,
  disclosures: [],
  growing: new Map(),
  description: '',
  systemPrompt: '',
  readAtOpening: 0,
}

/** A room that is looked at: reads it, opens what it can, follows what changes, and sends. */
export class OpenRoom {
  readonly #session: Session
  readonly #keyring: Keyring
  readonly #slug: string
  readonly #opener: MessageOpener
  readonly #listeners = new Set<() => void>()
  readonly #messages = new Map<string, RoomMessage>()
  readonly #dirty = new Set<string>()
  /** A message has changed since they were shown. */
  #hasNewMessages = false
  readonly #growing = new GrowingAnswers((sealed) => this.#opener.openProgress(sealed, this.#view.keys))
  readonly #stopped = new AbortController()
  /** Sends messages, once the room is found. */
  sender: MessageSender | undefined
  #members = new Map<string, Member>()
  #view = closedRoom
  /** The id down to which everything is read. */
  #readDownTo = Number.POSITIVE_INFINITY
  #total = 0
  #live: LiveStream | undefined
  #timers = new Map<string, ReturnType<typeof setTimeout>>()
  #shownAt = 0
  #readAt = 0
  #isReading = false
  #isReplacingKey = false

  constructor(session: Session, slug: string) {
    this.#session = session
    this.#keyring = keyringOf(session)
    this.#slug = slug
    this.#opener = new MessageOpener(slug, saltsOf(session))
  }

  get view(): RoomView {
    return this.#view
  }

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async start(): Promise<void> {
    try {
      const room = await api.rooms.find.query({ slug: this.#slug })
      if (this.#stopped.signal.aborted) return
      this.sender = this.#createSender(room.id)
      const { transport, changesSince } = roomStream({ url: location.origin }, room.id)
      this.#live = follow({
        transport: overSocket(this.#session.connection, `private-Rooms.${this.#slug}`, transport),
        changesSince,
        read: (signal) => this.#read(room.id, signal),
        apply: (change) => this.#note(change),
        passed: (event) => this.#growing.take(event, () => this.#show()),
        ended: () => this.#end(),
      })
    } catch (error) {
      const isGone = error instanceof SvcError && error.status === 404
      this.#change({ phase: isGone ? 'ended' : 'failed', error })
    }
  }

  #createSender(room: string): MessageSender {
    return new MessageSender({
      outbox: new Outbox(ownId(this.#session), room),
      current: () => (this.#view.room ? { room: this.#view.room, keys: this.#view.keys } : undefined),
      refresh: () => this.#readRoom(this.#stopped.signal),
      stored: (id) => this.#readMessages([id]),
      show: () => this.#show(true),
    })
  }

  stop(): void {
    this.#stopped.abort()
    this.#live?.stop()
    this.sender?.stop()
    for (const timer of this.#timers.values()) clearTimeout(timer)
  }

  /** Reads the messages before those that are there. */
  async loadEarlier(): Promise<void> {
    await this.#readEarlier(PAGE_SIZE)
    this.#show(true)
  }

  /** Reads the messages back to one, though no more than so many; whoever leaves the room ends that. */
  async loadBackTo(id: number, most = Number.POSITIVE_INFINITY): Promise<void> {
    for (let read = 0; read < most && this.#view.hasEarlier && this.#readDownTo > id; read += LARGE_PAGE) {
      if (this.#stopped.signal.aborted) return

      await this.#readEarlier(LARGE_PAGE)
    }
    this.#show(true)
  }

  async #readEarlier(size: number): Promise<void> {
    const { room } = this.#view
    if (!room) return
    const count = [...this.#messages.values()].filter(({ id }) => Number(id) >= this.#readDownTo).length
    await this.#readPage(room.id, Math.floor(count / size) + 1, size)
  }

  /** Reads what was replied to a message. */
  async loadThread(id: string): Promise<void> {
    for (let number = 1; ; number++) {
      const answer = await readPage<StoredRoomMessage>(
        api.roomMessages.related.query({
          id,
          relation: 'replies',
          include: ['attachments', 'member'],
          page: { size: 200, number },
        }),
      )
      await this.#take(answer.items)
      if (number * 200 >= answer.total) break
    }
    this.#show()
  }

  /** Resolves with the id of a message once it is stored; with nothing where it could not be sent. */
  whenSent(clientId: string): Promise<string | undefined> {
    return new Promise((resolve) => {
      const look = () => {
        const id = [...this.#messages.values()].find((each) => each.clientId === clientId)?.id
        if (id === undefined && this.sender?.isWaitingFor(clientId)) return
        stop()
        resolve(id)
      }
      const stop = this.subscribe(look)
      look()
    })
  }

  async delete(id: string): Promise<void> {
    await api.roomMessages.delete.mutate({ id })
    await this.#readMessages([id])
    this.#show(true)
  }

  /** Marks everything as read that is shown. */
  async markRead(): Promise<void> {
    const { room } = this.#view
    const last = Math.max(0, ...[...this.#messages.keys()].map(Number))
    if (!room || last <= this.#readUpTo()) return
    await api.rooms.markRead.mutate({ id: room.id, upTo: `${last}` })
    await queryClient.invalidateQueries({ queryKey: ['rooms'] })
  }

  /** The AI key that goes along with a question to a model. */
  async aiKey(): Promise<{ key: string; keyEpoch: number }> {
    const { room, keys } = this.#view
    const key = room && keys.get(room.keyEpoch)
    if (!room || key === undefined) throw new Error('There is no key to ask with.')
    return { key: await roomAiKey(key, this.#slug, saltsOf(this.#session)), keyEpoch: room.keyEpoch }
  }

  /** Reads everything anew, in place of what is known. */
  async #read(id: string, signal: AbortSignal): Promise<void> {
    this.#forgetMessages()
    this.#readDownTo = Number.POSITIVE_INFINITY
    await Promise.all([this.#readRoom(signal, id), this.#readMembers(id), this.#readDisclosures(id)])
    await this.#readPage(id, 1)
    if (this.#view.phase === 'opening') this.#view = { ...this.#view, readAtOpening: this.#readUpTo() }
    this.#change({ phase: 'open', error: undefined })
    void this.sender?.resume()
  }

  async #readRoom(signal: AbortSignal, id = this.#view.room?.id ?? ''): Promise<void> {
    const room = await api.rooms.get.query({ id }, { signal })
    const keys = await this.#keyring.read(room)
    const [description, systemPrompt] = await Promise.all(
      [room.roomDescription, room.systemPrompt].map((text) =>
        text === null ? '' : openRoomText(keys, text).catch(() => ''),
      ),
    )
    this.#view = { ...this.#view, room, keys, description: description ?? '', systemPrompt: systemPrompt ?? '' }
    await this.#heal()
    if (room.rekeyRequired && mayWrite(room)) void this.#replaceKey(room)
  }

  /** Opens what was closed for want of a key. */
  async #heal(): Promise<void> {
    const { keys, room } = this.#view
    for (const message of this.#messages.values())
      if (message.closed !== undefined && keys.has(message.keyEpoch))
        this.#keep(await this.#opener.reopen(message, keys, room?.sharesEarlierKeys ?? true))
  }

  /** Makes the next key; that somebody else does so at the same moment is usual. */
  async #replaceKey(room: Room): Promise<void> {
    if (this.#isReplacingKey || !this.#view.keys.has(room.keyEpoch)) return
    this.#isReplacingKey = true
    await this.#keyring.replace(room).catch(() => {})
    this.#isReplacingKey = false
    await this.#readRoom(this.#stopped.signal).catch(() => {})
    this.#show()
  }

  async #readMembers(id: string): Promise<void> {
    const members = new Map<string, Member>()
    for (let number = 1; ; number++) {
      const page = await readPage<Member>(
        api.rooms.related.query({ id, relation: 'members', include: ['user'], page: { size: 500, number } }),
      )
      for (const member of page.items) members.set(member.id, member)
      if (number * 500 >= page.total) break
    }
    this.#members = members
  }

  async #readDisclosures(id: string): Promise<void> {
    const { meta } = await api.rooms.disclosures.query({ id })
    this.#view = { ...this.#view, disclosures: meta.disclosures }
    const running = meta.disclosures.filter(({ state }) => state === 'answering')
    this.#growing.keep(new Set(running.map((each) => each.id)))
  }

  /** Returns the ids of what it has read. */
  async #readPage(id: string, number: number, size = PAGE_SIZE): Promise<ReadonlySet<string>> {
    const { items, total } = await readPage<StoredRoomMessage>(
      api.rooms.related.query({
        id,
        relation: 'messages',
        include: ['attachments', 'member'],
        sort: ['-id'],
        page: { size, number },
      }),
    )
    this.#total = total
    await this.#take(items)
    const ids = items.map((each) => each.id)
    this.#readDownTo = items.length < size ? 0 : Math.min(this.#readDownTo, ...ids.map(Number))
    return new Set(ids)
  }

  /** Many changes at once make one read of the newest messages, as most of them are new. */
  async #readChangedMessages(room: string, ids: readonly string[]): Promise<void> {
    if (ids.length <= FEW) return this.#readMessages(ids)
    const taken = await this.#readPage(room, 1)
    await this.#readMessages(ids.filter((id) => !taken.has(id)))
  }

  async #readMessages(ids: readonly string[]): Promise<void> {
    const read = async (id: string) => {
      try {
        return await api.roomMessages.get.query({ id, include: ['attachments', 'member'] })
      } catch (error) {
        if (error instanceof SvcError && error.status === 404) return undefined
        throw error
      }
    }
    if (ids.length === 0) return
    const found = await Promise.all(ids.map(read))
    await this.#take(found.filter((each) => each !== undefined))
  }

  async #take(stored: readonly StoredRoomMessage[]): Promise<void> {
    const { keys, room } = this.#view
    const shares = room?.sharesEarlierKeys ?? true
    const opened = await Promise.all(stored.map((each) => this.#opener.open(each, keys, shares)))
    for (const message of opened) {
      this.#keep(message)
      if (message.clientId !== null) this.sender?.forget(message.clientId)
    }
  }

  #keep(message: RoomMessage): void {
    this.#messages.set(message.id, message)
    this.#hasNewMessages = true
  }

  #forgetMessages(): void {
    this.#messages.clear()
    this.#hasNewMessages = true
  }

  /** Notes what is to be read; whatever comes at the same time is read together, and again as long as that fails. */
  #note({ kind, subject }: Change): void {
    const [type = ''] = kind.split('.')
    this.#dirty.add(['room-messages', 'room-members'].includes(type) ? `${type}/${subject}` : type)
    this.#readSoon()
  }

  /** At once where it is quiet, and otherwise no more often than it is shown. */
  #readSoon(): void {
    if (this.#isReading || this.#dirty.size === 0) return
    const wait = this.#readAt + SHOW_MS - Date.now()
    this.#later('read', Math.max(BATCH_MS, wait), () => void this.#readDirty())
  }

  /** One after the other, so that nothing older takes the place of what is newer. */
  async #readDirty(): Promise<void> {
    const { room } = this.#view
    const dirty = [...this.#dirty]
    this.#dirty.clear()
    if (!room || this.#stopped.signal.aborted) return
    this.#isReading = true
    this.#readAt = Date.now()
    try {
      await this.#readChanged(room, dirty)
      this.#show()
    } catch (error) {
      // The room is not there for the person any more.
      if (error instanceof SvcError && error.status === 404) return
      for (const each of dirty) this.#dirty.add(each)
      this.#readAt = Date.now() + RETRY_MS
    } finally {
      this.#isReading = false
      this.#readSoon()
    }
  }

  async #readChanged(room: Room, dirty: readonly string[]): Promise<void> {
    const idsOf = (type: string) => {
      const named = dirty.filter((each) => each.startsWith(`${type}/`))
      return named.map((each) => each.slice(type.length + 1))
    }
    const changedMembers = idsOf('room-members')
    const isOwnRole = changedMembers.includes(this.#ownMembership()?.id ?? '')
    if (dirty.includes('rooms') || isOwnRole) await this.#readRoom(this.#stopped.signal)
    await Promise.all([
      this.#readChangedMessages(room.id, idsOf('room-messages')),
      this.#readSomeMembers(room.id, changedMembers),
      dirty.includes('room-disclosures') && this.#readDisclosures(room.id),
    ])
    const isBehind = [...this.#messages.values()].some((each) => each.keyEpoch > room.keyEpoch && each.closed)
    if (isBehind) await this.#readRoom(this.#stopped.signal)
  }

  /** Of many at once all are read. */
  async #readSomeMembers(room: string, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    if (ids.length > FEW) return this.#readMembers(room)
    const read = await Promise.all(ids.map(readMember))
    const members = new Map(this.#members)
    for (const [at, member] of read.entries()) {
      const id = ids[at] ?? ''
      if (member && member.state !== 'removed') members.set(id, member)
      else members.delete(id)
    }
    this.#members = members
  }

  #end(): void {
    this.#forgetMessages()
    this.#change({ phase: 'ended' })
    void queryClient.invalidateQueries({ queryKey: ['rooms'] })
  }

  #ownMembership(): Member | undefined {
    const own = ownId(this.#session)
    return [...this.#members.values()].find((member) => relatedId(member, 'user') === own)
  }

  #readUpTo(): number {
    return Number(this.#ownMembership()?.readUpTo ?? 0)
  }

  #later(what: string, milliseconds: number, act: () => void): void {
    if (this.#timers.has(what) || this.#stopped.signal.aborted) return
    const run = () => {
      this.#timers.delete(what)
      act()
    }
    this.#timers.set(what, setTimeout(run, milliseconds))
  }

  #change(change: Partial<RoomView>): void {
    this.#view = { ...this.#view, ...change }
    this.#show(true)
  }

  /** Shows what there is, a few times a second at most; what the person has done themself at once. */
  #show(isOwn = false): void {
    const wait = this.#shownAt + SHOW_MS - Date.now()
    if (!isOwn && wait > 0) {
      this.#later('show', wait, () => this.#show(true))
      return
    }
    this.#shownAt = Date.now()
    this.#view = {
      ...this.#view,
      ...(this.#hasNewMessages && this.#listMessages()),
      members: this.#members,
      own: this.#ownMembership(),
      growing: this.#growing.answers,
      outgoing: this.sender?.outgoing ?? [],
      hasEarlier: this.#readDownTo > 0 && this.#total > this.#messages.size,
    }
    this.#hasNewMessages = false
    for (const listener of this.#listeners) listener()
  }

  #listMessages(): Pick<RoomView, 'messages' | 'byId'> {
    const messages = [...this.#messages.values()].filter(({ thread }) => thread === null)
    return { messages: messages.toSorted((one, other) => one.seq - other.seq), byId: new Map(this.#messages) }
  }
}

/** Nothing where there is no such member any more. */
async function readMember(id: string): Promise<Member | undefined> {
  try {
    return await api.roomMembers.get.query({ id })
  } catch (error) {
    if (error instanceof SvcError && error.status === 404) return undefined
    throw error
  }
}
