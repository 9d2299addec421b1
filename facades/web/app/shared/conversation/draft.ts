import { useEffect, useMemo, useRef, useState } from 'react'
import type { ConversationKey } from '../conversation-key.ts'

const SAVE_DELAY_MS = 250

/** The beginning of the names of drafts that are never stored, as nothing of their conversations is. */
export const TEMPORARY = 'temporary'

export const isTemporaryDraft = (name: string): boolean => name.startsWith(TEMPORARY)

/** A text that is stored in this browser, encrypted. */
class StoredDraft {
  readonly #key: ConversationKey
  readonly #storageKey: string
  /** True if nothing of the conversation is stored. */
  readonly isTemporary: boolean
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Counts the changes, as encrypting the later of two may be done first. */
  #version = 0

  constructor(key: ConversationKey, owner: string, name: string) {
    this.#key = key
    this.#storageKey = buildPrefix(owner) + name
    this.isTemporary = isTemporaryDraft(name)
  }

  async open(): Promise<string> {
    if (this.isTemporary) return ''
    const sealed = localStorage.getItem(this.#storageKey)
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
    this.#timer = setTimeout(() => void this.save(text), SAVE_DELAY_MS)
  }

  async save(text: string): Promise<void> {
    clearTimeout(this.#timer)
    this.#version++
    const version = this.#version
    if (this.isTemporary) return
    if (text.trim() === '') return this.remove()
    const sealed = await this.#key.seal(text)
    if (version !== this.#version) return
    try {
      localStorage.setItem(this.#storageKey, sealed)
    } catch {
      // The storage is full, and what is written only stays on the page.
    }
  }

  remove(): void {
    clearTimeout(this.#timer)
    this.#version++
    localStorage.removeItem(this.#storageKey)
  }
}

const buildPrefix = (owner: string) => `svc:draft:${owner}:`

/** Removes all drafts of a person from this browser. */
export function removeDrafts(owner: string): void {
  for (const name of Object.keys(localStorage)) if (name.startsWith(buildPrefix(owner))) localStorage.removeItem(name)
}

/** Returns a draft, the same one until its name changes. Nothing stays stored of a draft that becomes temporary. */
export function useStoredDraft(key: ConversationKey, owner: string, name: string): StoredDraft {
  const draft = useMemo(() => new StoredDraft(key, owner, name), [key, owner, name])
  const previous = useRef(draft)
  useEffect(() => {
    if (draft.isTemporary) previous.current.remove()
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
  const write = (next: string) => {
    latest.current = next
    setText(next)
    stored.saveSoon(next)
  }
  /** Clears the draft that was sent, unless something else was written meanwhile. */
  const clear = (sent: string) => {
    if (latest.current !== sent) return
    latest.current = ''
    setText('')
    stored.remove()
  }
  return { text, write, clear }
}
