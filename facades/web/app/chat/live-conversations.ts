import { useEffect } from 'react'
import { queryClient } from '../shared/api/client.ts'
import { isNotFound } from '../shared/api/error-text.ts'
import { ChangeQueue } from '../shared/change-queue.ts'
import { type ChangeEvent, followChanges } from '../shared/live.ts'
import { getConversationQueryKey, refreshConversations } from './conversations.ts'
import { refreshMessages, takeOwnChange } from './messages.ts'
import { turns } from './turn.ts'

/** Refreshes conversations that change in other tabs and programs. */
export function LiveConversations(): null {
  useEffect(() => {
    const changes = new ChangeQueue<string>(refreshChanged)
    const stop = followChanges((change) => {
      if (change && takeOwnChange(change.subject ?? '')) return
      for (const path of listChanged(change)) changes.add(path)
    })
    return () => {
      changes.stop()
      stop()
    }
  }, [])
  return null
}

/** Lists what has changed: `list`, and the attributes or messages of conversations, such as `messages/{slug}`. */
function listChanged(change: ChangeEvent): string[] {
  // After a gap anything may have changed.
  if (!change) return ['list', ...listOldSlugs().flatMap((slug) => [`${CONVERSATION}/${slug}`, `${MESSAGES}/${slug}`])]
  const { kind = '', subject = '' } = change
  const [slug = ''] = subject.split('/')
  if (kind.startsWith('conversation-messages')) return ['list', `${MESSAGES}/${slug}`]
  return kind.startsWith('conversation') ? ['list', `${CONVERSATION}/${slug}`] : ['list']
}

async function refreshChanged(changes: ReadonlySet<string>): Promise<void> {
  const reads = [refreshConversations(), refetchFailed()]
  for (const [name, slug = ''] of [...changes].map((change) => change.split('/'))) {
    if (name === CONVERSATION) reads.push(queryClient.invalidateQueries({ queryKey: getConversationQueryKey(slug) }))
    // The stored answer is older than one that streams here.
    if (name === MESSAGES && !turns.isAnswering(slug)) reads.push(refreshMessages(slug))
  }
  await Promise.all(reads)
}

/** The first elements of the keys of the queries that a shown conversation needs. */
const [MESSAGES, CONVERSATION, MODELS] = ['messages', 'conversation', 'models']

/** Reads failed queries again, for example after the service was away. */
const refetchFailed = () =>
  queryClient.refetchQueries({
    predicate: ({ queryKey: [name], state: { status, error } }) =>
      status === 'error' && !isNotFound(error) && (name === MESSAGES || name === CONVERSATION || name === MODELS),
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
