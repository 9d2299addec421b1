import { useEffect } from 'react'
import { queryClient } from '../shared/api/client.ts'
import { isNotFound } from '../shared/api/error-text.ts'
import { ChangeQueue } from '../shared/change-queue.ts'
import { type ChangeEvent, followChanges } from '../shared/live.ts'
import { ASSISTANTS_KEY, refreshAssistants } from '../shared/models/assistants.ts'
import { MODELS_KEY, refreshModels } from '../shared/models/models.ts'
import { getConversationQueryKey, refreshConversations } from './conversations.ts'
import { readNumber } from './message-content.ts'
import { isCached, ownChanges, refreshMessages } from './messages.ts'
import { turns } from './turn.ts'

/** Refreshes conversations that change in other tabs and programs. */
export function LiveConversations(): null {
  useEffect(() => {
    const changes = new ChangeQueue<string>(refreshChanged)
    const stop = followChanges((change) => {
      for (const path of listChanged(change)) changes.add(path)
    })
    return () => {
      changes.stop()
      stop()
    }
  }, [])
  return null
}

/** Lists what has changed, such as `messages/{slug}`, except the own changes of this page. */
function listChanged(change: ChangeEvent): string[] {
  if (!change) {
    // After a gap anything may have changed.
    ownChanges.forget()
    return [
      'list',
      ASSISTANTS_KEY,
      ...listOldSlugs().flatMap((slug) => [`${CONVERSATION}/${slug}`, `${MESSAGES}/${slug}`]),
    ]
  }
  const { kind = '', subject = '' } = change
  const [slug = ''] = subject.split('/')
  if (kind.startsWith('tool-questions.')) return []
  if (kind.startsWith('assistants.')) return [ASSISTANTS_KEY, MODELS_KEY]
  if (kind === 'conversation-messages.created') return [`${CREATED}/${subject}`]
  if (kind.startsWith('conversation-messages')) return ownChanges.take(subject) ? [] : [`${MESSAGES}/${slug}`]
  return [kind.startsWith('conversation') ? `${CONVERSATION}/${slug}` : 'list']
}

async function refreshChanged(changes: ReadonlySet<string>): Promise<void> {
  const parts = [...changes].map((change) => change.split('/'))
  // The service has returned the messages that this page has stored.
  const changed = parts.filter(
    ([name, slug = '', number = '']) => name !== CREATED || !isCached(slug, readNumber(number)),
  )
  if (changed.length === 0) return
  const listSlugs = (...names: string[]) =>
    new Set(changed.flatMap(([name = '', slug = '']) => (names.includes(name) ? slug : [])))
  const reads = [refetchFailed()]
  if (changes.has(ASSISTANTS_KEY)) reads.push(refreshAssistants())
  // A model of an assistant may be off.
  if (changes.has(MODELS_KEY)) reads.push(refreshModels())
  if (changed.some(([name]) => name !== ASSISTANTS_KEY && name !== MODELS_KEY)) reads.push(refreshConversations())
  for (const slug of listSlugs(CONVERSATION)) {
    reads.push(queryClient.invalidateQueries({ queryKey: getConversationQueryKey(slug) }))
    // A deleted conversation may have been restored.
    if (queryClient.getQueryState([MESSAGES, slug])?.status === 'error') reads.push(refreshMessages(slug))
  }
  // The stored answer is older than one that streams here. Of two answers, another tab may have chosen one.
  for (const slug of listSlugs(MESSAGES, CREATED)) if (!turns.isAnsweringAlone(slug)) reads.push(refreshMessages(slug))
  await Promise.all(reads)
}

/** A new message, by the slug of its conversation and its number. */
const CREATED = 'created'

/** The first elements of the keys of the queries that a shown conversation needs. */
const [MESSAGES, CONVERSATION] = ['messages', 'conversation']
const NEEDED: ReadonlySet<unknown> = new Set([MESSAGES, CONVERSATION, MODELS_KEY, ASSISTANTS_KEY])

/** Reads failed queries again, for example after the service was away. */
const refetchFailed = () =>
  queryClient.refetchQueries({
    predicate: ({ queryKey: [name], state: { status, error } }) =>
      status === 'error' && !isNotFound(error) && NEEDED.has(name),
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
