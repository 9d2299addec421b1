import { SvcError } from '../../../client/index.ts'
import { type Change, roomStream } from '../../../client/live/index.ts'
import { openRoomText, type RoomKeys, roomAiKey } from '../../browser/crypto.ts'
import { api } from '../shared/api/client.ts'
import { getRelatedId } from '../shared/api/related.ts'
import { ChangeQueue } from '../shared/change-queue.ts'
import { Listeners } from '../shared/listeners.ts'
import { followAgain } from '../shared/live.ts'
import { OwnChanges } from '../shared/own-changes.ts'
import type { Session } from '../shared/session.tsx'
import { type CheckedKey, getKeyring, type Keyring } from './keyring.ts'
import { MessageSender, Outbox, type OutgoingMessage } from './message-sender.ts'
import {
  canWrite,
  type Disclosure,
  getOwnId,
  getSalts,
  type Member,
  type MemberEvent,
  type Room,
  type StoredReactions,
  type StoredRoomMessage,
} from './room.ts'
import { RoomHistory, type ShownMessages } from './room-history.ts'
import { RoomMembers } from './room-members.ts'
import { MessageOpener } from './room-message.ts'
import { type Reactions, RoomReactions } from './room-reactions.ts'
import { refreshRooms, refreshUnreadCounts } from './rooms.ts'
import { createSocketTransport } from './socket.ts'
import { StreamingAnswers } from './streaming-answers.ts'

/** Milliseconds between two renderings at the least. */
const SHOW_MS = 350
const RETRY_MS = 3000

/** The kinds of changes of messages. A deleted message is updated, as its place stays. */
const [CREATED, UPDATED] = ['room-messages.created', 'room-messages.updated']

/** The types whose changes are read by their subjects. */
const NAMED_TYPES = ['room-members', 'room-reactions']
/** The kinds of changes that begin or end a membership, and what is read after them. */
const MEMBERSHIP_CHANGES = ['room-members.created', 'room-members.deleted']
const MEMBER_EVENTS = 'member events'

/** The state of a room. It is a new object after each change. */
export interface RoomView extends ShownMessages {
  phase: 'opening' | 'open' | 'ended' | 'failed'
  error?: unknown
  room: Room | undefined
  keys: RoomKeys
  members: ReadonlyMap<string, Member>
  /** The public keys of members that this browser does not trust, where they were checked. */
  untrustedKeys: readonly CheckedKey[]
  /** The membership of the person. */
  ownMember: Member | undefined
  reactions: Reactions
  /** People joining, leaving and being removed, the oldest first. */
  memberEvents: readonly MemberEvent[]
  outgoing: readonly OutgoingMessage[]
  hasEarlier: boolean
  disclosures: readonly Disclosure[]
  /** The streaming answers by the ids of their disclosures. */
  streamingAnswers: StreamingAnswers['answers']
  /** The decrypted description; undefined if it cannot be decrypted. */
  description: string | undefined
  /** The decrypted system prompt; undefined if it cannot be decrypted. */
  systemPrompt: string | undefined
  /** The id of the last message that was read when the room was opened. */
  readUpToAtOpening: number
  /** True once the person has marked messages as unread, which then stay so while the room is open. */
  keepsUnread: boolean
}

const initialView: RoomView = {
  phase: 'opening',
  room: undefined,
  keys: new Map(),
  members: new Map(),
  untrustedKeys: [],
  ownMember: undefined,
  messages: [],
  byId: new Map(),
  reactions: new Map(),
  memberEvents: [],
  outgoing: [],
  hasEarlier: false,
  disclosures: [],
  streamingAnswers: new Map(),
  description: '',
  systemPrompt: '',
  readUpToAtOpening: 0,
  keepsUnread: false,
}

/** Loads a room, decrypts it, follows its changes and sends messages. */
export class RoomStore {
  readonly #session: Session
  readonly #keyring: Keyring
  readonly #slug: string
  readonly #opener: MessageOpener
  readonly #listeners = new Listeners()
  readonly #history: RoomHistory
  readonly #members: RoomMembers
  readonly #reactions: RoomReactions
  /** The changes that are still to be read, no more often than the room is rendered. */
  readonly #changes = new ChangeQueue<string>((changes) => this.#readChanges([...changes]), SHOW_MS)
  /** The messages that came with these changes, by id. */
  readonly #records = new Map<string, StoredRoomMessage>()
  /** The reactions that came with changes, by the id of their message. */
  readonly #reactionRecords = new Map<string, StoredReactions>()
  /** The messages that this page edits or deletes. */
  readonly #ownChanges = new OwnChanges()
  readonly #streamingAnswers = new StreamingAnswers((sealed) => this.#opener.openProgress(sealed, this.#view.keys))
  readonly #stopped = new AbortController()
  /** Sends messages; undefined until the room is found. */
  sender: MessageSender | undefined
  #view = initialView
  #timers = new Map<string, ReturnType<typeof setTimeout>>()
  #shownAt = 0
  #rotation: Promise<void> | undefined

  constructor(session: Session, slug: string) {
    this.#session = session
    this.#keyring = getKeyring(session)
    this.#slug = slug
    this.#opener = new MessageOpener(slug, getSalts(session))
    this.#members = new RoomMembers(getOwnId(session))
    this.#reactions = new RoomReactions({ getCurrent: () => this.#view, refreshKeys: () => this.refreshKeys() })
    this.#history = new RoomHistory({
      opener: this.#opener,
      getCurrent: () => this.#view,
      getMemberName: (id) => this.#getMemberName(id),
      onStored: (clientId) => this.sender?.forget(clientId),
    })
  }

  get view(): RoomView {
    return this.#view
  }

  readonly subscribe = this.#listeners.subscribe

  async start(): Promise<void> {
    try {
      const room = await api.rooms.find.query({ slug: this.#slug })
      if (this.#stopped.signal.aborted) return
      this.sender = this.#createSender(room.id)
      this.#follow(room.id)
    } catch (error) {
      const isGone = error instanceof SvcError && error.status === 404
      this.#update({ phase: isGone ? 'ended' : 'failed', error })
    }
  }

  #follow(id: string): void {
    const { transport, changesSince } = roomStream({ url: location.origin }, id)
    void followAgain({
      transport: createSocketTransport(this.#session.connection, `private-Rooms.${this.#slug}`, transport),
      changesSince,
      read: (signal) => this.#read(id, signal),
      apply: (change) => this.#markChanged(change),
      passed: (event) => this.#streamingAnswers.apply(event, () => this.#show()),
      ended: () => this.#endRoom(),
      signal: this.#stopped.signal,
    })
  }

  #createSender(room: string): MessageSender {
    return new MessageSender({
      outbox: new Outbox(getOwnId(this.#session), room),
      getCurrent: () => (this.#view.room ? { room: this.#view.room, keys: this.#view.keys } : undefined),
      refreshKeys: () => this.refreshKeys(),
      onStored: (stored, hasFiles) => this.#addReturned(stored, hasFiles),
      change: (id, call) => this.#changeMessage(id, call),
      onChange: () => this.#show(true),
    })
  }

  stop(): void {
    this.#stopped.abort()
    this.#changes.stop()
    this.sender?.stop()
    for (const timer of this.#timers.values()) clearTimeout(timer)
  }

  /** Loads the page before the oldest message. */
  async loadEarlier(): Promise<void> {
    await this.#history.readEarlier()
    await this.#reactions.readMissing(this.#history.ids)
    this.#show(true)
  }

  /** Loads back to a message, but at most so many messages and only while the room is open. */
  async loadBackTo(id: number, maxMessages = Number.POSITIVE_INFINITY): Promise<void> {
    await this.#history.readBackTo(id, maxMessages, this.#stopped.signal)
    await this.#reactions.readMissing(this.#history.ids)
    this.#show(true)
  }

  /** Loads the replies to a message. */
  async loadThread(id: string): Promise<void> {
    await this.#history.readReplies(id)
    await this.#reactions.readMissing(this.#history.ids)
    this.#show()
  }

  /** Adds a reaction of the person to a message, or removes it. */
  async toggleReaction(message: string, emoji: string): Promise<void> {
    await this.#reactions.toggle(message, emoji, this.#members.ownMember?.id)
    this.#show(true)
  }

  /** Resolves with the id of a message once it is stored, or with undefined if it could not be sent. */
  waitUntilSent(clientId: string): Promise<string | undefined> {
    return new Promise((resolve) => {
      const check = () => {
        const id = this.#history.findByClientId(clientId)?.id
        if (id === undefined && this.sender?.isWaitingFor(clientId)) return
        stop()
        resolve(id)
      }
      const stop = this.subscribe(check)
      check()
    })
  }

  async delete(id: string): Promise<void> {
    await this.#changeMessage(id, () => api.roomMessages.delete.mutate({ id }))
    this.#history.markDeleted(id)
    this.#show(true)
  }

  #changeMessage<Result>(id: string, call: () => Promise<Result>): Promise<Result> {
    return this.#ownChanges.make(id, call, () => this.#changes.add(`room-messages.updated/${id}`))
  }

  /** Adds a message of the person. It is only read if it has files, which the service does not return. */
  async #addReturned(stored: StoredRoomMessage, hasFiles: boolean): Promise<void> {
    // Whoever answers has read.
    this.#view = { ...this.#view, keepsUnread: false }
    // The result is newer.
    this.#records.delete(stored.id)
    if (hasFiles && !this.#history.has(stored.id)) await this.#history.readChanged([stored.id])
    else await this.#history.add([stored])
  }

  #getMemberName(id: string): string {
    const { displayName, username } = this.#members.byId.get(id) ?? {}
    return displayName ?? username ?? ''
  }

  /** Marks all loaded messages as read. */
  async markRead(): Promise<void> {
    const { room } = this.#view
    const last = this.#history.newestId
    if (!room || this.#view.keepsUnread || last <= this.#readUpTo()) return
    await api.rooms.markRead.mutate({ id: room.id, upTo: `${last}` })
    await refreshUnreadCounts()
  }

  /** Marks a message and all later ones as unread, on all browsers of the person. */
  async markUnread(id: string): Promise<void> {
    const { room, readUpToAtOpening, keepsUnread } = this.#view
    if (!room) return
    this.#update({ readUpToAtOpening: Number(id) - 1, keepsUnread: true })
    try {
      await api.rooms.markUnread.mutate({ id: room.id, from: id })
    } catch (error) {
      this.#update({ readUpToAtOpening, keepsUnread })
      throw error
    }
    await refreshUnreadCounts()
  }

  /** Follows the read mark of the person, which may have moved here or in another browser, in either direction. */
  #followReadMark(before: number): void {
    const readUpTo = this.#readUpTo()
    if (readUpTo < before) this.#view = { ...this.#view, readUpToAtOpening: readUpTo, keepsUnread: true }
    else if (readUpTo > before) this.#view = { ...this.#view, keepsUnread: false }
  }

  /** Derives the AI key, which a question to a model includes. */
  async getAiKey(): Promise<{ key: string; keyEpoch: number }> {
    const { room, keys } = this.#view
    const key = room && keys.get(room.keyEpoch)
    if (!room || key === undefined) throw new Error('There is no key to ask with.')
    return { key: await roomAiKey(key, this.#slug, getSalts(this.#session)), keyEpoch: room.keyEpoch }
  }

  /** Reads everything again and replaces the known state, which stays until then. */
  async #read(id: string, signal: AbortSignal): Promise<void> {
    this.#ownChanges.forget()
    const readUpTo = this.#readUpTo()
    await Promise.all([
      this.#readRoom(signal, id),
      this.#members.readAll(id),
      this.#readMemberEvents(id),
      this.#readDisclosures(id),
    ])
    await this.#history.readAgain()
    await this.#reactions.readAgain(this.#history.ids)
    if (this.#view.phase === 'opening') this.#view = { ...this.#view, readUpToAtOpening: this.#readUpTo() }
    else this.#followReadMark(readUpTo)
    this.#update({ phase: 'open', error: undefined })
    void this.sender?.resume()
  }

  async #readRoom(signal: AbortSignal, id = this.#view.room?.id ?? ''): Promise<void> {
    const room = await api.rooms.get.query({ id }, { signal })
    const keys = await this.#keyring.readKeys(room)
    const [description, systemPrompt] = await Promise.all(
      [room.roomDescription, room.systemPrompt].map((text) =>
        text === null ? '' : openRoomText(keys, text).catch(() => undefined),
      ),
    )
    this.#view = { ...this.#view, room, keys, description, systemPrompt }
    await this.#history.reopenUnreadable()
    await this.#reactions.reopen()
    // Without the key of the room this browser neither gives it to anybody nor tests a proof.
    if (!keys.has(room.keyEpoch)) return
    if (room.rekeyRequired && canWrite(room)) this.#rotation ??= this.#rotateKey(room)
    else if (room.rekeyRequired || this.#view.untrustedKeys.length > 0 || this.#keyring.hasNewKeys(room))
      await this.#checkMembers(room).catch(() => {})
  }

  async #checkMembers(room: Room): Promise<void> {
    const checked = await this.#keyring.checkMembers(room)
    await this.#showUntrusted(
      room,
      checked.filter(({ state }) => state !== 'trusted'),
    )
  }

  /** Reads the members again if the service gives the key of somebody who has not been reported as a member. */
  async #showUntrusted(room: Room, untrustedKeys: readonly CheckedKey[]): Promise<void> {
    const people = new Set(this.#members.byId.values().map((member) => getRelatedId(member, 'user')))
    if (untrustedKeys.some(({ id }) => !people.has(id))) await this.#members.readAll(room.id).catch(() => {})
    this.#view = { ...this.#view, untrustedKeys }
  }

  /** Reads the room and its keys again, and waits for the new key that it may need. */
  async refreshKeys(): Promise<void> {
    await this.#readRoom(this.#stopped.signal)
    await this.#rotation
  }

  /** Rotates the room key. A conflict is ignored, as another member has then just done so. */
  async #rotateKey(room: Room): Promise<void> {
    const untrustedKeys = await this.#keyring.rotateKey(room).catch(() => undefined)
    if (untrustedKeys) await this.#showUntrusted(room, untrustedKeys)
    await this.#readRoom(this.#stopped.signal).catch(() => {})
    this.#rotation = undefined
    if (!untrustedKeys) this.#schedule('rotate', RETRY_MS, () => this.refreshKeys().catch(() => {}))
    this.#show()
  }

  async #readMemberEvents(room: string): Promise<void> {
    const memberEvents = await api.roomMembers.events.query({ room })
    this.#view = { ...this.#view, memberEvents }
  }

  async #readDisclosures(id: string): Promise<void> {
    const { meta } = await api.rooms.disclosures.query({ id })
    this.#view = { ...this.#view, disclosures: meta.disclosures }
    const running = meta.disclosures.filter(({ state }) => state === 'answering')
    this.#streamingAnswers.retain(new Set(running.map((each) => each.id)))
  }

  #markChanged(change: Change): void {
    const { kind, subject } = change
    const [type = ''] = kind.split('.')
    if (type === 'room-messages') this.#markMessageChanged(change)
    else this.#changes.add(NAMED_TYPES.includes(type) ? `${type}/${subject}` : type)
    if (type === 'room-reactions') this.#keepReactions(change)
    if (MEMBERSHIP_CHANGES.includes(kind) && !subject.startsWith('invitation-')) this.#changes.add(MEMBER_EVENTS)
  }

  #keepReactions({ subject, record }: Change): void {
    if (record) this.#reactionRecords.set(subject, record as StoredReactions)
    else this.#reactionRecords.delete(subject)
  }

  #markMessageChanged({ kind, subject, record }: Change): void {
    if (kind !== CREATED && this.#ownChanges.take(subject)) return
    if (record) this.#records.set(subject, record as StoredRoomMessage)
    else this.#records.delete(subject)
    this.#changes.add(`${kind}/${subject}`)
  }

  async #readChanges(changes: readonly string[]): Promise<void> {
    const { room } = this.#view
    if (!room) return
    try {
      await this.#readChanged(room, changes)
      this.#show()
    } catch (error) {
      // The person can no longer read the room.
      if (!(error instanceof SvcError) || error.status !== 404) throw error
    }
  }

  async #readChanged(room: Room, changes: readonly string[]): Promise<void> {
    const listIds = (kind: string) => {
      const ofKind = changes.filter((each) => each.startsWith(`${kind}/`))
      return ofKind.map((each) => each.slice(kind.length + 1))
    }
    // The service has returned the messages that were sent from here.
    const created = listIds(CREATED).filter((messageId) => !this.#history.has(messageId))
    const changedMembers = listIds('room-members')
    const isOwnRole = changedMembers.includes(this.#members.ownMember?.id ?? '')
    if (changes.includes('rooms') || isOwnRole) await this.#readRoom(this.#stopped.signal)
    const messages = [...new Set([...created, ...listIds(UPDATED)])]
    const readUpTo = this.#readUpTo()
    await Promise.all([
      this.#history.readChanged(messages.filter((id) => !this.#records.has(id))),
      this.#members.readChanged(room.id, changedMembers),
      changes.includes(MEMBER_EVENTS) && this.#readMemberEvents(room.id),
      changes.includes('room-disclosures') && this.#readDisclosures(room.id),
    ])
    this.#followReadMark(readUpTo)
    await this.#history.add(messages.flatMap((id) => this.#records.get(id) ?? []))
    for (const id of [...listIds(CREATED), ...messages]) this.#records.delete(id)
    await this.#readReactions(listIds('room-reactions'))
    const isBehind = this.#history.some((each) => each.keyEpoch > room.keyEpoch && each.unreadable !== undefined)
    if (isBehind) await this.#readRoom(this.#stopped.signal)
  }

  async #readReactions(messages: readonly string[]): Promise<void> {
    await this.#reactions.add(messages.flatMap((id) => this.#reactionRecords.get(id) ?? []))
    await this.#reactions.read(messages.filter((id) => !this.#reactionRecords.has(id)))
    for (const id of messages) this.#reactionRecords.delete(id)
  }

  #endRoom(): void {
    this.#history.forget()
    this.#reactions.forget()
    this.#update({ phase: 'ended' })
    void refreshRooms()
  }

  #readUpTo(): number {
    return Number(this.#members.ownMember?.readUpTo ?? 0)
  }

  #schedule(name: string, milliseconds: number, act: () => void): void {
    if (this.#timers.has(name) || this.#stopped.signal.aborted) return
    const run = () => {
      this.#timers.delete(name)
      act()
    }
    this.#timers.set(name, setTimeout(run, milliseconds))
  }

  #update(change: Partial<RoomView>): void {
    this.#view = { ...this.#view, ...change }
    this.#show(true)
  }

  /** Publishes the state a few times a second at most, but the person's own changes at once. */
  #show(isOwn = false): void {
    const wait = this.#shownAt + SHOW_MS - Date.now()
    if (!isOwn && wait > 0) {
      this.#schedule('show', wait, () => this.#show(true))
      return
    }
    this.#shownAt = Date.now()
    this.#view = {
      ...this.#view,
      ...this.#history.shown,
      members: this.#members.byId,
      reactions: this.#reactions.opened,
      ownMember: this.#members.ownMember,
      streamingAnswers: this.#streamingAnswers.answers,
      outgoing: this.sender?.outgoing ?? [],
      hasEarlier: this.#history.hasEarlier,
    }
    this.#listeners.notify()
  }
}
