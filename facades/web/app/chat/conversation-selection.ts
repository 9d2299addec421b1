import { useSyncExternalStore } from 'react'
import type { Conversation } from '../shared/api/client.ts'
import { Listeners } from '../shared/listeners.ts'

/** The most conversations that can be selected, as one call changes them. */
export const MAX_SELECTED = 200

type Selected = ReadonlyMap<string, Conversation>

/** The selected conversations of the list by slug; undefined while none can be selected. */
class ConversationSelection {
  #selected: Selected | undefined
  /** The conversation that was selected last, from which a range begins. */
  #anchor: string | undefined
  #start: string | undefined
  readonly #listeners = new Listeners()

  readonly subscribe = this.#listeners.subscribe

  get selected(): Selected | undefined {
    return this.#selected
  }

  /** Returns true once for the conversation with which the selection began. */
  takeStart(slug: string): boolean {
    const isStart = this.#start === slug
    if (isStart) this.#start = undefined
    return isStart
  }

  start(conversation: Conversation): void {
    this.#start = conversation.slug
    this.#select(new Map([[conversation.slug, conversation]]), conversation.slug)
  }

  /** Selects a conversation, or takes it out. */
  toggle(conversation: Conversation): void {
    const { slug } = conversation
    const selected = new Map(this.#selected)
    if (!selected.delete(slug) && selected.size < MAX_SELECTED) selected.set(slug, conversation)
    this.#select(selected, slug)
  }

  /** Selects the conversations of a list from the one that was selected last up to this one. */
  selectUpTo({ slug }: Conversation, list: readonly Conversation[]): void {
    const ends = [slug, this.#anchor].map((end) => list.findIndex((each) => each.slug === end))
    const [from, to] = [Math.min(...ends), Math.max(...ends)]
    this.add(list.slice(from === -1 ? to : from, to + 1))
  }

  add(conversations: readonly Conversation[]): void {
    const all = new Map(this.#selected)
    for (const each of conversations) all.set(each.slug, each)
    this.#select(new Map([...all].slice(0, MAX_SELECTED)), conversations.at(-1)?.slug)
  }

  end(): void {
    this.#select(undefined, undefined)
  }

  #select(selected: Selected | undefined, anchor: string | undefined): void {
    this.#selected = selected
    this.#anchor = anchor
    this.#listeners.notify()
  }
}

export const selection = new ConversationSelection()

/** Returns the selected conversations; undefined while none can be selected. */
export const useSelected = (): Selected | undefined =>
  useSyncExternalStore(selection.subscribe, () => selection.selected)
