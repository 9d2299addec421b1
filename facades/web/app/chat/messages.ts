import { type InfiniteData, infiniteQueryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { queryClient } from '../shared/api/client.ts'
import type { StoredMessage } from '../shared/api/types.ts'
import type { Comparison } from '../shared/conversation/answer.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { OwnChanges } from '../shared/own-changes.ts'
import { useSession } from '../shared/session.tsx'
import { findPathTo } from './branches.ts'
import { type OpenedMessage, openMessage, writeNumber } from './message-content.ts'
import { findSummary, type History, hasWholeHistory, isWhole, selectSent } from './sent-history.ts'
import { getCalls } from './temporary-chats.ts'

interface Page {
  messages: OpenedMessage[]
  /** The cursor of the page before this one. */
  next: string | null
}

/** The messages that are read at first, and those before them that are read at once. */
const [PAGE_SIZE, EARLIER_SIZE] = [50, 200]

const getMessagesKey = (slug: string) => ['messages', slug]

const buildMessagesQuery = (key: ConversationKey, slug: string) =>
  infiniteQueryOptions({
    queryKey: getMessagesKey(slug),
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => {
      const size = pageParam === undefined ? PAGE_SIZE : EARLIER_SIZE
      return readPage(key, slug, { size, before: pageParam }, signal)
    },
    getNextPageParam: ({ next }) => next ?? undefined,
  })

/** Reads and decrypts the last messages of a conversation, and earlier ones on demand. */
export const useMessages = (key: ConversationKey, slug: string) => useInfiniteQuery(buildMessagesQuery(key, slug))

/** Reads all messages before those that are loaded. */
export async function readAllEarlier({
  hasNextPage,
  fetchNextPage,
}: Pick<ReturnType<typeof useMessages>, 'hasNextPage' | 'fetchNextPage'>): Promise<void> {
  for (let canRead = hasNextPage; canRead; ) {
    const result = await fetchNextPage()
    canRead = result.hasNextPage && !result.isError
  }
}

async function readPage(
  key: ConversationKey,
  slug: string,
  { size, before }: { size: number; before: string | undefined },
  signal?: AbortSignal,
): Promise<Page> {
  const page = { size, ...(before !== undefined && { before }) }
  const { data, meta } = await getCalls(slug).messages.query({ slug, page }, signal && { signal })
  return { messages: await Promise.all(data.map((message) => openMessage(key, message))), next: meta.next }
}

/** Returns the messages in order; the newest page comes first. */
export const flattenPages = (data: InfiniteData<Page> | undefined): OpenedMessage[] =>
  (data?.pages ?? []).toReversed().flatMap(({ messages }) => messages)

interface PathEnd {
  /** The number of the last message. */
  parent: number
  /** Returns true if a path needs no earlier messages. */
  isEnough: (path: readonly OpenedMessage[]) => boolean
}

/**
 * Returns the path up to a message. Reads earlier messages until the path begins with the first message or is enough,
 * so that it doesn't depend on how far the person has scrolled. The page doesn't show them.
 */
export async function readPathTo(
  key: ConversationKey,
  slug: string,
  { parent, isEnough }: PathEnd,
  signal?: AbortSignal,
): Promise<OpenedMessage[]> {
  if (parent === 0) return []
  const cached = queryClient.getQueryData(buildMessagesQuery(key, slug).queryKey)
  let messages = flattenPages(cached)
  let next = cached?.pages.at(-1)?.next
  for (;;) {
    const path = findPathTo(messages, parent)
    if (isWhole(path) || isEnough(path) || next === null) return path
    const page = await readPage(key, slug, { size: EARLIER_SIZE, before: next }, signal)
    messages = [...page.messages, ...messages]
    next = page.next
  }
}

/** Reads a message as it is stored now. */
export async function readMessage(
  key: ConversationKey,
  slug: string,
  number: number,
): Promise<OpenedMessage | undefined> {
  const { messages } = await readPage(key, slug, { size: 1, before: writeNumber(number + 1) })
  return messages.find((message) => message.number === number)
}

/** Has one tab of the browser change two compared answers at a time, so that none overwrites what another has chosen. */
export const lockComparison = <Result>({ id }: Comparison, change: () => Promise<Result>): Promise<Result> =>
  navigator.locks.request(`svc:comparison:${id}`, change)

const getSummariesKey = (slug: string) => ['earlier-summary', slug]

/** Reads what is sent to a model of the path up to a message. */
export async function readSentHistory(
  key: ConversationKey,
  slug: string,
  parent: number,
  signal?: AbortSignal,
): Promise<History<OpenedMessage>> {
  const path = await readPathTo(key, slug, { parent, isEnough: hasWholeHistory }, signal)
  const [first] = path
  const isFound = findSummary(path) !== undefined || isWhole(path) || !first
  return selectSent(path, isFound ? undefined : await readEarlierSummary(key, slug, first.number))
}

/**
 * Returns a path with the messages and the summary before it that are sent as well, which are read if that is needed.
 * `isRead` is false until then, or if they can't be read.
 */
export function useSentPath(
  slug: string,
  path: readonly OpenedMessage[],
  isNeeded: boolean,
): { path: readonly OpenedMessage[]; isRead: boolean } {
  const { conversationKey: key } = useSession()
  const first = path[0]?.number ?? 0
  const { data } = useQuery({
    queryKey: [...getSummariesKey(slug), 'path', first],
    enabled: isNeeded,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => readSentHistory(key, slug, first, signal),
  })
  return useMemo(() => {
    if (!isNeeded || !data) return { path, isRead: !isNeeded }
    const { summary, messages } = data
    return { path: [...(summary ? [summary] : []), ...messages, ...path.slice(1)], isRead: true }
  }, [path, isNeeded, data])
}

/** Reads the summary before a message, which no question looks for again; null if there is none. */
const readEarlierSummary = (key: ConversationKey, slug: string, before: number): Promise<OpenedMessage | null> =>
  queryClient.fetchQuery({
    queryKey: [...getSummariesKey(slug), before],
    staleTime: Number.POSITIVE_INFINITY,
    // It is one message, and looking for it reads the whole chat.
    gcTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const isEnough = (path: readonly OpenedMessage[]) => findSummary(path) !== undefined
      return findSummary(await readPathTo(key, slug, { parent: before, isEnough }, signal)) ?? null
    },
  })

/** The messages that this page updates. */
export const ownChanges = new OwnChanges()

/** Updates a message that this page has stored. */
export function updateMessage(message: {
  slug: string
  number: number
  content: string
  isComplete: boolean
}): Promise<StoredMessage> {
  const { slug } = message
  const number = writeNumber(message.number)
  const update = () => getCalls(slug).updateMessage.mutate({ ...message, number })
  return ownChanges.make(`${slug}/${number}`, update, () => refreshMessages(slug))
}

/** Returns true if the message with this number is loaded. */
export function isCached(slug: string, number: number): boolean {
  const cached = queryClient.getQueryData<InfiniteData<Page>>(getMessagesKey(slug))
  return flattenPages(cached).some((message) => message.number === number)
}

/** The number of the first message of a conversation. */
const FIRST_NUMBER = 1

/** Inserts a stored message by its number into the cache, or replaces it there. */
export async function putMessageInCache(
  key: ConversationKey,
  slug: string,
  stored: StoredMessage,
): Promise<OpenedMessage> {
  const message = await openMessage(key, stored)
  if (message.answer.summary) void queryClient.invalidateQueries({ queryKey: getSummariesKey(slug) })
  const queryKey = getMessagesKey(slug)
  // A read that began before the message was stored would remove it again.
  const wasReading = queryClient.isFetching({ queryKey }) > 0
  await queryClient.cancelQueries({ queryKey })
  queryClient.setQueryData(queryKey, (cached: InfiniteData<Page, string | undefined> | undefined) => {
    if (!cached && message.number !== FIRST_NUMBER) return undefined
    const pages = cached?.pages ?? [{ messages: [], next: null }]
    const at = pages.findIndex(({ messages }) => messages.some(({ number }) => number === message.number))
    const updated = pages.map((page, index) => {
      if (index === at)
        return { ...page, messages: page.messages.map((each) => (each.number === message.number ? message : each)) }
      return at === -1 && index === 0 ? { ...page, messages: [...page.messages, message] } : page
    })
    return { pages: updated, pageParams: cached?.pageParams ?? [undefined] }
  })
  if (wasReading) void refreshMessages(slug)
  return message
}

export function refreshMessages(slug: string): Promise<void> {
  void queryClient.invalidateQueries({ queryKey: getSummariesKey(slug) })
  return queryClient.invalidateQueries({ queryKey: getMessagesKey(slug) })
}

/** Reads and decrypts all messages of a conversation in pages of this size. */
export async function readAllMessages(
  key: ConversationKey,
  slug: string,
  size: number,
  signal?: AbortSignal,
): Promise<OpenedMessage[]> {
  const pages: OpenedMessage[][] = []
  let before: string | undefined
  do {
    const page = await readPage(key, slug, { size, before }, signal)
    pages.unshift(page.messages)
    before = page.next ?? undefined
  } while (before !== undefined)
  return pages.flat()
}
