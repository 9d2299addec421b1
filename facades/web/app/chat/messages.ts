import { type InfiniteData, useInfiniteQuery } from '@tanstack/react-query'
import { api, queryClient, type StoredMessage } from '../shared/api/client.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { type OpenedMessage, openMessage } from './message-content.ts'

interface Page {
  messages: OpenedMessage[]
  /** The number before which the earlier ones end. */
  next: string | null
}

const PAGE_SIZE = 50

const getMessagesKey = (slug: string) => ['messages', slug]

/** The last messages of a conversation, opened, and earlier ones as they are asked for. */
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

/** The pages begin with the latest one. */
export const flattenPages = (data: InfiniteData<Page> | undefined): OpenedMessage[] =>
  (data?.pages ?? []).toReversed().flatMap(({ messages }) => messages)

/** What this page has stored, of which it is told like everybody else. */
const ownChanges = new Set<string>()

/** Whether a change was made by this page; it is told of each once. */
export const wasOwnChange = (subject: string): boolean => ownChanges.delete(subject)

/** Puts a stored message where its number belongs, in place of what stood there. */
export async function putMessageInCache(
  key: ConversationKey,
  slug: string,
  stored: StoredMessage,
): Promise<OpenedMessage> {
  ownChanges.add(`${slug}/${stored.number}`)
  const message = await openMessage(key, stored)
  queryClient.setQueryData(getMessagesKey(slug), (known: InfiniteData<Page, string | undefined> | undefined) => {
    const pages = known?.pages ?? [{ messages: [], next: null }]
    const at = pages.findIndex(({ messages }) => messages.some(({ number }) => number === stored.number))
    const kept = pages.map((page, index) => {
      if (index === at)
        return { ...page, messages: page.messages.map((each) => (each.number === stored.number ? message : each)) }
      return at === -1 && index === 0 ? { ...page, messages: [...page.messages, message] } : page
    })
    return { pages: kept, pageParams: known?.pageParams ?? [undefined] }
  })
  return message
}

export const refreshMessages = (slug: string) => queryClient.invalidateQueries({ queryKey: getMessagesKey(slug) })
