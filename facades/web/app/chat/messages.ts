import { type InfiniteData, useInfiniteQuery } from '@tanstack/react-query'
import { api, queryClient, type StoredMessage } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { type OpenedMessage, openMessage } from './message-content.ts'

interface Page {
  messages: OpenedMessage[]
  /** The cursor of the page before this one. */
  next: string | null
}

const PAGE_SIZE = 50

const getMessagesKey = (slug: string) => ['messages', slug]

/** Reads and decrypts the last messages of a conversation, and earlier ones on demand. */
export const useMessages = (key: ConversationKey, slug: string) =>
  useInfiniteQuery({
    queryKey: getMessagesKey(slug),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => readPage(key, slug, pageParam, signal),
    getNextPageParam: ({ next }) => next ?? undefined,
  })

async function readPage(
  key: ConversationKey,
  slug: string,
  before: string | undefined,
  signal: AbortSignal,
): Promise<Page> {
  const page = { size: PAGE_SIZE, ...(before && { before }) }
  const { data, meta } = await api.conversations.messages.query({ slug, page }, { signal })
  return { messages: await Promise.all(data.map((message) => openMessage(key, message))), next: meta.next }
}

/** Returns the messages in order; the newest page comes first. */
export const flattenPages = (data: InfiniteData<Page> | undefined): OpenedMessage[] =>
  (data?.pages ?? []).toReversed().flatMap(({ messages }) => messages)

/** Messages that this page has stored. The stream of changes reports them as well. */
const ownChanges = new Set<string>()

/** Returns true if this page made the change, which the stream reports once. */
export const wasOwnChange = (subject: string): boolean => ownChanges.delete(subject)

/** Inserts a stored message by its number into the cache, or replaces it there. */
export async function putMessageInCache(
  key: ConversationKey,
  slug: string,
  stored: StoredMessage,
): Promise<OpenedMessage> {
  ownChanges.add(`${slug}/${stored.number}`)
  const message = await openMessage(key, stored)
  queryClient.setQueryData(getMessagesKey(slug), (cached: InfiniteData<Page, string | undefined> | undefined) => {
    const pages = cached?.pages ?? [{ messages: [], next: null }]
    const at = pages.findIndex(({ messages }) => messages.some(({ number }) => number === stored.number))
    const updated = pages.map((page, index) => {
      if (index === at)
        return { ...page, messages: page.messages.map((each) => (each.number === stored.number ? message : each)) }
      return at === -1 && index === 0 ? { ...page, messages: [...page.messages, message] } : page
    })
    return { pages: updated, pageParams: cached?.pageParams ?? [undefined] }
  })
  return message
}

export const refreshMessages = (slug: string) => queryClient.invalidateQueries({ queryKey: getMessagesKey(slug) })

/** Reads those messages again that could not be read, as while the service was away. */
export const refreshFailedMessages = () =>
  queryClient.refetchQueries({ queryKey: ['messages'], predicate: ({ state }) => state.status === 'error' })
