import { infiniteQueryOptions, queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { api, type Conversation, queryClient } from '../shared/api/client.ts'
import { Listeners } from '../shared/listeners.ts'
import { formatShortDate } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'

const PAGE_SIZE = 100
/** The most conversations that can be pinned, or are shown of a folder. */
const MAX_CONVERSATIONS = 200

/** The first element of the query keys of all lists. */
const LISTS_KEY = 'conversations'

/** The first element of the query keys of single conversations. */
const CONVERSATION_KEY = 'conversation'

export const getConversationQueryKey = (slug: string) => [CONVERSATION_KEY, slug]

export const buildConversationQuery = (slug: string) =>
  queryOptions({
    queryKey: getConversationQueryKey(slug),
    queryFn: ({ signal }) => api.conversations.get.query({ slug }, { signal }),
    // A question needs the system prompt and doesn't wait until the browser is online.
    networkMode: 'always',
  })

export const useConversation = (slug: string) => useQuery(buildConversationQuery(slug))

/** Queries the conversations outside of folders that are not pinned, or all whose names contain this text. */
const buildListQuery = (name: string) =>
  infiniteQueryOptions({
    queryKey: [LISTS_KEY, 'list', name],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => {
      const page = { size: PAGE_SIZE, ...(pageParam && { after: pageParam }) }
      const which = name === '' ? { isPinned: false, folder: null } : { name }
      return api.conversations.list.query({ page, ...which }, { signal })
    },
    getNextPageParam: ({ meta }) => meta.next ?? undefined,
  })

/** Reads the conversations, those that changed last first. */
export const useConversations = (name: string) => useInfiniteQuery(buildListQuery(name))

export const usePinned = () =>
  useQuery({
    queryKey: [LISTS_KEY, 'pinned'],
    queryFn: ({ signal }) =>
      api.conversations.list.query({ page: { size: MAX_CONVERSATIONS }, isPinned: true }, { signal }),
  }).data?.data ?? []

export const useFolders = () =>
  useQuery({
    queryKey: [LISTS_KEY, 'folders'],
    queryFn: ({ signal }) => api.conversations.folders.query(undefined, { signal }),
  }).data ?? []

/** Reads the conversations of a folder while it is open. */
export const useFolder = (folder: string, isOpen: boolean) =>
  useQuery({
    queryKey: [LISTS_KEY, 'folder', folder],
    enabled: isOpen,
    queryFn: ({ signal }) => api.conversations.list.query({ page: { size: MAX_CONVERSATIONS }, folder }, { signal }),
  }).data?.data ?? []

export const refreshConversations = () => queryClient.invalidateQueries({ queryKey: [LISTS_KEY] })

/** Creates a conversation named by the date. Names are not encrypted, so none is derived from a question. */
export async function createConversation(): Promise<Conversation> {
  const name = t('app.chat.dated', { date: formatShortDate(new Date()) })
  const created = await api.conversations.create.mutate({ name })
  queryClient.setQueryData(getConversationQueryKey(created.slug), created)
  void refreshConversations()
  return created
}

export async function renameConversation(slug: string, name: string): Promise<void> {
  await updateCache(await api.conversations.update.mutate({ slug, name }))
}

type OrganizeInput = Parameters<typeof api.conversations.organize.mutate>[0]

/** Pins a conversation or moves it to a folder. */
export async function organizeConversation(change: OrganizeInput): Promise<void> {
  await updateCache(await api.conversations.organize.mutate(change))
}

async function updateCache(changed: Conversation): Promise<void> {
  queryClient.setQueryData(getConversationQueryKey(changed.slug), changed)
  await refreshConversations()
}

export async function changeFolder(name: string, newName: string | null): Promise<void> {
  await api.conversations.changeFolder.mutate({ name, newName })
  await refreshConversations()
}

/** Milliseconds for which a deleted conversation can be restored. */
const UNDO_MS = 10_000

const STORAGE_KEY = 'svc:discarded'

/** A conversation that was just deleted. */
interface DiscardedConversation {
  slug: string
  name: string
  until: number
}

const listeners = new Listeners()
let lastDiscarded = readDiscarded()

/** Reads it from the tab's storage, so that it survives a reload. */
function readDiscarded(): DiscardedConversation | undefined {
  const text = sessionStorage.getItem(STORAGE_KEY)
  const discarded = text === null ? undefined : (JSON.parse(text) as DiscardedConversation)
  return discarded && discarded.until > Date.now() ? discarded : undefined
}

function writeDiscarded(discarded: DiscardedConversation | undefined): void {
  lastDiscarded = discarded
  if (discarded) sessionStorage.setItem(STORAGE_KEY, JSON.stringify(discarded))
  else sessionStorage.removeItem(STORAGE_KEY)
  listeners.notify()
}

export async function discardConversation({ slug, name }: Conversation): Promise<void> {
  await api.conversations.discard.mutate({ slug })
  writeDiscarded({ slug, name, until: Date.now() + UNDO_MS })
  await refreshConversations()
}

export async function restoreConversation({ slug }: DiscardedConversation): Promise<void> {
  await api.conversations.restore.mutate({ slug })
  writeDiscarded(undefined)
  await refreshConversations()
}

/** Returns the conversation that was deleted last, while it can be restored. */
export function useDiscarded(): DiscardedConversation | undefined {
  const discarded = useSyncExternalStore(listeners.subscribe, () => lastDiscarded)
  useEffect(() => {
    if (!discarded) return
    const timer = setTimeout(() => writeDiscarded(undefined), discarded.until - Date.now())
    return () => clearTimeout(timer)
  }, [discarded])
  return discarded
}
