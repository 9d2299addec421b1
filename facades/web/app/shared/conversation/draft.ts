import { useEffect, useMemo, useRef, useState } from 'react'
import type { ConversationKey } from '../conversation-key.ts'

const SAVE_DELAY_MS = 250

/** The beginning of the names of drafts that are never stored, as nothing of their conversations is. */
export const TEMPORARY = 'temporary'

export const isTemporaryDraft = (name: string): boolean => name.startsWith(TEMPORARY)

/**
 * The drafts of temporary chats that have begun, by their storage keys, and those of kept ones that the storage has no
 * room for. They go with the page.
 */
const temporaryDrafts = new Map<string, string>()

/** The beginning of the slugs of temporary chats that have begun. */
export const TEMPORARY_PREFIX = `${TEMPORARY}-`

/** A text that is stored in this browser, encrypted. */
export class StoredDraft {
  readonly #key: ConversationKey
  readonly storageKey: string
  /** True if nothing of the conversation is stored. */
  readonly isTemporary: boolean
  /** True if the page keeps the draft as long as its temporary chat. */
  readonly #isOnPage: boolean
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Counts the changes, as encrypting the later of two may be done first. */
  #version = 0

  constructor(key: ConversationKey, owner: string, name: string) {
    this.#key = key
    this.storageKey = buildPrefix(owner) + name
    this.isTemporary = isTemporaryDraft(name)
    this.#isOnPage = name.startsWith(TEMPORARY_PREFIX)
  }

  async open(): Promise<string> {
    const onPage = temporaryDrafts.get(this.storageKey)
    if (this.isTemporary || onPage !== undefined) return onPage ?? ''
    const sealed = localStorage.getItem(this.storageKey)
    if (sealed === null) return ''
    try {
      return await this.#key.open(sealed)
    } catch {
      // It was encrypted with an earlier key, which no longer exists.
      this.remove()
      return ''
    }
  }

  /** Saves the text once no other one has followed for a moment. */
  saveSoon(text: string): void {
    clearTimeout(this.#timer)
    if (this.isTemporary) void this.save(text)
    else this.#timer = setTimeout(() => void this.save(text), SAVE_DELAY_MS)
  }

  /** Resolves with true if the text is stored, for this page at least. */
  async save(text: string): Promise<boolean> {
    clearTimeout(this.#timer)
    this.#version++
    const version = this.#version
    if (text.trim() === '') this.remove()
    else if (this.#isOnPage) temporaryDrafts.set(this.storageKey, text)
    if (this.isTemporary || text.trim() === '') return this.#isOnPage
    const sealed = await this.#key.seal(text)
    if (version !== this.#version) return false
    try {
      localStorage.setItem(this.storageKey, sealed)
      temporaryDrafts.delete(this.storageKey)
      return true
    } catch {
      if (temporaryDrafts.has(this.storageKey)) temporaryDrafts.set(this.storageKey, text)
      // The storage is full, and what is written only stays on the page.
      return false
    }
  }

  /** Saves the text, or keeps it on this page where it cannot be stored but may be. */
  async saveOrHold(text: string): Promise<void> {
    if (!(await this.save(text)) && !this.isTemporary) temporaryDrafts.set(this.storageKey, text)
  }

  remove(): void {
    clearTimeout(this.#timer)
    this.#version++
    temporaryDrafts.delete(this.storageKey)
    localStorage.removeItem(this.storageKey)
  }
}

const buildPrefix = (owner: string) => `svc:draft:${owner}:`

const listTemporaryDrafts = (owner: string, slug: string) =>
  [...temporaryDrafts].filter(([storageKey]) => storageKey.startsWith(buildPrefix(owner) + slug))

/** Stores the drafts of a temporary chat for the chat that it has become. */
export async function keepTemporaryDrafts(
  key: ConversationKey,
  owner: string,
  [temporarySlug, slug]: readonly [string, string],
): Promise<void> {
  for (const [storageKey, text] of listTemporaryDrafts(owner, temporarySlug)) {
    const name = storageKey.slice(buildPrefix(owner).length).replace(temporarySlug, slug)
    await new StoredDraft(key, owner, name).saveOrHold(text)
  }
}

/** Forgets the drafts of a temporary chat. */
export function forgetTemporaryDrafts(owner: string, slug: string): void {
  for (const [storageKey] of listTemporaryDrafts(owner, slug)) temporaryDrafts.delete(storageKey)
}

/** Returns a draft, the same one until its name changes. Nothing stays stored of a draft that becomes temporary. */
export function useStoredDraft(key: ConversationKey, owner: string, name: string): StoredDraft {
  const draft = useMemo(() => new StoredDraft(key, owner, name), [key, owner, name])
  const previous = useRef(draft)
  useEffect(() => {
    if (draft.isTemporary && previous.current !== draft) previous.current.remove()
    previous.current = draft
  }, [draft])
  return draft
}

/** Keeps the text that is being written in a conversation, encrypted in this browser, so that it survives a reload. */
export function useDraft(key: ConversationKey, owner: string, name: string) {
  const stored = useStoredDraft(key, owner, name)
  const [text, setText] = useState('')
  const latest = useRef('')
  latest.current = text
  useEffect(() => {
    let isCurrent = true
    void stored.open().then((draft) => {
      if (!isCurrent) return
      // A text that came along from a draft with another name is kept under this one.
      if (latest.current === '') setText(draft)
      else void stored.save(latest.current)
    })
    return () => {
      isCurrent = false
    }
  }, [stored])
  const show = (next: string) => {
    latest.current = next
    setText(next)
  }
  const write = (next: string) => {
    show(next)
    stored.saveSoon(next)
  }
  /** Adds a text before the one that is there. Resolves once it is stored. */
  const prepend = async (added: string) => {
    show(latest.current === '' ? added : `${added}\n\n${latest.current}`)
    await stored.save(latest.current)
  }
  /** Clears the draft that was sent, unless something else was written meanwhile. */
  const clear = (sent: string) => {
    if (latest.current !== sent) return
    show('')
    stored.remove()
  }
  return { text, write, prepend, clear }
}
