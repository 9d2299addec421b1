import { useEffect } from 'react'
import { queryClient } from '../shared/api/client.ts'
import { followChanges } from '../shared/live.ts'
import { conversationKey, refreshConversations } from './conversations.ts'
import { refreshMessages, wasOwnChange } from './messages.ts'
import { turns } from './turn.ts'

/** Changes that come within this time are read together. */
const BATCH_MS = 100

/** Shows what the person does in other tabs and programs. */
export function useLiveConversations(): void {
  useEffect(() => {
    const slugs = new Set<string>()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = () => {
      timer = undefined
      void refreshConversations()
      for (const slug of slugs) refresh(slug)
      slugs.clear()
    }
    const stop = followChanges((change) => {
      const { kind = '', subject = '' } = change ?? {}
      if (wasOwnChange(subject)) return
      if (kind.startsWith('conversation')) slugs.add(subject.split('/')[0] ?? '')
      timer ??= setTimeout(read, BATCH_MS)
    })
    return () => {
      clearTimeout(timer)
      stop()
    }
  }, [])
}

/** An answer under way here knows better than what is stored of it. */
function refresh(slug: string): void {
  void queryClient.invalidateQueries({ queryKey: conversationKey(slug) })
  if (!turns.isAnswering(slug)) void refreshMessages(slug)
}
