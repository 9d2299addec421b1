import { useEffect, useRef, useState } from 'react'
import type { ConversationKey } from '../crypto/conversation-key.ts'

const SEAL_MS = 250

const slotOf = (owner: string, slug: string | undefined) => `svc:draft:${owner}:${slug ?? 'new'}`

/** What is being written in a conversation. It is kept sealed in this browser, whatever happens to the page. */
export function useDraft(key: ConversationKey, owner: string, slug: string | undefined) {
  const slot = slotOf(owner, slug)
  const [text, setText] = useState('')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => {
    const sealed = localStorage.getItem(slot)
    if (sealed === null) return
    key.open(sealed).then(
      (kept) => setText((written) => written || kept),
      // Sealed with an earlier key, which opens nothing any more.
      () => localStorage.removeItem(slot),
    )
  }, [key, slot])
  const write = (next: string) => {
    setText(next)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => keepDraft(key, slot, next), SEAL_MS)
  }
  const clear = () => {
    setText('')
    clearTimeout(timer.current)
    localStorage.removeItem(slot)
  }
  return { text, write, clear }
}

async function keepDraft(key: ConversationKey, slot: string, text: string): Promise<void> {
  if (text.trim() === '') return localStorage.removeItem(slot)
  localStorage.setItem(slot, await key.seal(text))
}
