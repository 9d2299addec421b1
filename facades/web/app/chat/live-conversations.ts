import { useEffect } from 'react'
import { queryClient } from '../shared/api/client.ts'
import { isNotFound } from '../shared/api/error-text.ts'
import { type ChangeEvent, followChanges } from '../shared/live.ts'
import { getConversationQueryKey, refreshConversations } from './conversations.ts'
import { refreshMessages, takeOwnChange } from './messages.ts'
import { turns } from './turn.ts'

/** Milliseconds in which changes are collected before they are read together. */
const BATCH_MS = 100

/** Refreshes conversations that change in other tabs and programs. */
export function LiveConversations(): null {
  useEffect(() => {
    let changed = new ChangedConversations()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = () => {
      timer = undefined
      void refreshConversations()
      void refetchFailed()
      changed.refresh()
      changed = new ChangedConversations()
    }
    const stop = followChanges((change) => {
      if (change && takeOwnChange(change.subject ?? '')) return
      changed.add(change)
      timer ??= setTimeout(read, BATCH_MS)
    })
    return () => {
      clearTimeout(timer)
      stop()
    }
  }, [])
  return null
}

/** The slugs of the conversations whose attributes or messages have changed. */
class ChangedConversations {
  readonly #attributes = new Set<string>()
  readonly #messages = new Set<string>()

  /** Adds a change; without one, there is a gap, in which anything may have changed. */
  add(change: ChangeEvent): void {
    if (!change) {
      for (const set of [this.#attributes, this.#messages]) for (const slug of listOldSlugs()) set.add(slug)
      return
    }
    const { kind = '', subject = '' } = change
    const [slug = ''] = subject.split('/')
    if (kind.startsWith('conversation-messages')) this.#messages.add(slug)
    else if (kind.startsWith('conversation')) this.#attributes.add(slug)
  }

  refresh(): void {
    for (const slug of this.#attributes) void queryClient.invalidateQueries({ queryKey: getConversationQueryKey(slug) })
    // The stored answer is older than one that streams here.
    for (const slug of this.#messages) if (!turns.isAnswering(slug)) void refreshMessages(slug)
  }
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
