import { CannotOpen, Malformed, openReaction, type RoomKeys, sealReaction } from '../../browser/crypto.ts'
import { api } from '../shared/api/client.ts'
import { isKeyRefused } from './message-sender.ts'
import type { Room, StoredReactions } from './room.ts'

/** The reactions that are offered. */
export const offeredReactions = ['👍', '❤️', '😂', '🎉', '😮', '😢', '✅', '👀'] as const

/** A decrypted reaction. */
export interface Reaction {
  id: string
  /** The id of the author's membership. */
  member: string
  /** Empty for an erased person. */
  name: string
  emoji: string
}

/** Reactions by the ids of their messages. The map is a new object after each change. */
export type Reactions = ReadonlyMap<string, readonly Reaction[]>

interface RoomReactionsOptions {
  /** Returns the current state of the room and its keys. */
  getCurrent: () => { room: Room | undefined; keys: RoomKeys }
  refreshKeys: () => Promise<void>
}

/** Messages whose reactions are read at once. */
const PAGE_SIZE = 200

/** The reactions in a room, read once for each message and then taken from changes. */
export class RoomReactions {
  readonly #options: RoomReactionsOptions
  readonly #toggles = new Map<string, Promise<void>>()
  #stored = new Map<string, StoredReactions>()
  #readIds = new Set<string>()
  #opened: Reactions = new Map()

  constructor(options: RoomReactionsOptions) {
    this.#options = options
  }

  get opened(): Reactions {
    return this.#opened
  }

  forget(): void {
    this.#stored = new Map()
    this.#readIds = new Set()
    this.#opened = new Map()
  }

  /** Reads the reactions to messages anew, and replaces all that it has in one step, which stay if that fails. */
  async readAgain(messages: Iterable<string>): Promise<void> {
    const next = new RoomReactions(this.#options)
    await next.readMissing(messages)
    // A running call keeps the old map, by which it knows that its result came too late.
    this.#stored = next.#stored
    this.#readIds = next.#readIds
    this.#opened = next.#opened
  }

  /** Reads the reactions to messages that it has not read yet. */
  async readMissing(messages: Iterable<string>): Promise<void> {
    await this.read([...messages].filter((id) => !this.#readIds.has(id)))
  }

  async read(messages: readonly string[]): Promise<void> {
    for (let start = 0; start < messages.length; start += PAGE_SIZE)
      await this.#readPage(messages.slice(start, start + PAGE_SIZE))
  }

  async #readPage(messages: readonly string[]): Promise<void> {
    const readIds = this.#readIds
    await this.#addResult(async () => {
      const found = await api.roomReactions.list.query({ messages: [...messages] })
      const byId = new Map(found.map((each) => [each.id, each]))
      return messages.map((id) => byId.get(id) ?? { id, reactions: [] })
    })
    for (const id of messages) readIds.add(id)
  }

  /** Replaces the reactions to messages. */
  async add(stored: readonly StoredReactions[]): Promise<void> {
    for (const each of stored) this.#stored.set(each.id, each)
    const opened = await Promise.all(stored.map(async (each) => ({ each, reactions: await this.#open(each) })))
    // Newer ones may have arrived during the decryption.
    const current = opened.filter(({ each }) => this.#stored.get(each.id) === each)
    this.#opened = new Map([...this.#opened, ...current.map(({ each, reactions }) => [each.id, reactions] as const)])
  }

  /** Adds the result of a call, except to messages whose reactions have changed since the call began. */
  async #addResult(call: () => Promise<readonly StoredReactions[]>): Promise<void> {
    const stored = this.#stored
    const before = new Map(stored)
    const result = await call()
    if (this.#stored === stored) await this.add(result.filter(({ id }) => stored.get(id) === before.get(id)))
  }

  /** Decrypts all reactions again, after a key has arrived. */
  reopen = (): Promise<void> => this.add([...this.#stored.values()])

  /** Adds a reaction of the person, or removes it if they have it already. A second call joins one that is running. */
  toggle(message: string, emoji: string, member: string | undefined): Promise<void> {
    const key = `${message} ${emoji}`
    const toggle =
      this.#toggles.get(key) ?? this.#toggle(message, emoji, member).finally(() => this.#toggles.delete(key))
    this.#toggles.set(key, toggle)
    return toggle
  }

  async #toggle(message: string, emoji: string, member: string | undefined): Promise<void> {
    const isOwn = (each: Reaction) => each.emoji === emoji && each.member === member
    const own = this.#opened.get(message)?.filter(isOwn) ?? []
    // Another browser of the person may have added the same one.
    for (const { id } of own)
      await this.#addResult(async () => [await api.roomReactions.remove.mutate({ message, id })])
    if (own.length > 0) return
    const seal = async () => {
      const { room, keys } = this.#options.getCurrent()
      const key = room && keys.get(room.keyEpoch)
      if (!room || key === undefined) throw new CannotOpen()
      return { message, content: await sealReaction(key, message, emoji), keyEpoch: room.keyEpoch }
    }
    const send = () => this.#addResult(async () => [await api.roomReactions.add.mutate(await seal())])
    await send().catch(async (error: unknown) => {
      if (!isKeyRefused(error)) throw error
      await this.#options.refreshKeys()
      await send()
    })
  }

  /** Decrypts the reactions that can be; only emojis are shown. */
  async #open({ id, reactions }: StoredReactions): Promise<Reaction[]> {
    const { keys } = this.#options.getCurrent()
    const opened = await Promise.all(
      reactions.map(async ({ id: reaction, member, name, content, keyEpoch }): Promise<Reaction | undefined> => {
        const key = keys.get(keyEpoch)
        const emoji = key && (await openReaction(key, id, content).catch(ignoreUnreadable))
        return emoji && EMOJI.test(emoji) ? { id: reaction, member, name: name ?? '', emoji } : undefined
      }),
    )
    return opened.filter((each) => each !== undefined)
  }
}

const EMOJI = /^\p{RGI_Emoji}$/v

function ignoreUnreadable(error: unknown): undefined {
  if (!(error instanceof CannotOpen) && !(error instanceof Malformed)) throw error
}
