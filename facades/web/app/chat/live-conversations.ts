import { useEffect } from 'react'
import { queryClient } from '../shared/api/client.ts'
import { followChanges } from '../shared/live.ts'
import { getConversationQueryKey, refreshConversations } from './conversations.ts'
import { refreshMessages, takeOwnChange } from './messages.ts'
import { turns } from './turn.ts'

/** Milliseconds in which changes are collected before they are read together. */
const BATCH_MS = 100

/** Refreshes conversations that change in other tabs and programs. */
export function LiveConversations(): null {
  useEffect(() => {
    const slugs = new Set<string>()
    let hasGap = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = () => {
      timer = undefined
      void refreshConversations()
      void refetchFailed()
      if (hasGap) for (const slug of listOldSlugs()) slugs.add(slug)
      for (const slug of slugs) refreshConversation(slug)
      slugs.clear()
      hasGap = false
    }
    const stop = followChanges((change) => {
      const { kind = '', subject = '' } = change ?? {}
      if (takeOwnChange(subject)) return
      hasGap ||= change === undefined
      if (kind.startsWith('conversation')) slugs.add(subject.split('/')[0] ?? '')
      timer ??= setTimeout(read, BATCH_MS)
    })
    return () => {
      clearTimeout(timer)
      stop()
    }
  }, [])
  return null
}

/** The first elements of the keys of the queries that a shown conversation needs. */
const [MESSAGES, CONVERSATION, MODELS] = ['messages', 'conversation', 'models']

/** Reads that again which could not be read, as while the service was away. */
const refetchFailed = () =>
  queryClient.refetchQueries({
    predicate: ({ queryKey: [name], state }) =>
      state.status === 'error' && (name === MESSAGES || name === CONVERSATION || name === MODELS),
  })

/** Milliseconds in which data counts as current, as after the page has opened: the stream begins with a gap. */
const FRESH_MS = 5000

/** Returns the conversations in the cache that may have changed during a gap. */
const listOldSlugs = (): string[] =>
  queryClient
    .getQueryCache()
    .getAll()
    .filter(({ queryKey: [name] }) => name === MESSAGES || name === CONVERSATION)
    .filter(({ state }) => Date.now() - state.dataUpdatedAt > FRESH_MS)
    .map(({ queryKey }) => String(queryKey[1]))

/** Skips the messages while an answer streams here, as the stored answer is older. */
function refreshConversation(slug: string): void {
  void queryClient.invalidateQueries({ queryKey: getConversationQueryKey(slug) })
  if (!turns.isAnswering(slug)) void refreshMessages(slug)
}
