import { infiniteQueryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { api, type Conversation, queryClient } from '../shared/api/client.ts'
import { formatShortDate } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'

const PAGE_SIZE = 100
/** As many as can be pinned, or lie in a folder and are shown of it. */
const MAX_CONVERSATIONS = 200

/** All lists of conversations begin with this. */
const LISTS_KEY = 'conversations'

export const conversationQueryKey = (slug: string) => ['conversation', slug]

/** Those that are neither pinned nor in a folder, or all with this in their names. */
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

/** The conversations of the person, those that were changed last first. */
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

/** What lies in a folder; read when it is opened. */
export const useFolder = (folder: string, isOpen: boolean) =>
  useQuery({
    queryKey: [LISTS_KEY, 'folder', folder],
    enabled: isOpen,
    queryFn: ({ signal }) => api.conversations.list.query({ page: { size: MAX_CONVERSATIONS }, folder }, { signal }),
  }).data?.data ?? []

export const refreshConversations = () => queryClient.invalidateQueries({ queryKey: [LISTS_KEY] })

/** A conversation begins with the date for its name: names are not encrypted, so none is made from a question. */
export async function createConversation(): Promise<Conversation> {
  const name = t('app.chat.dated', { date: formatShortDate(new Date()) })
  const created = await api.conversations.create.mutate({ name })
  queryClient.setQueryData(conversationQueryKey(created.slug), created)
  void refreshConversations()
  return created
}

export async function renameConversation(slug: string, name: string): Promise<void> {
  await updateCache(await api.conversations.update.mutate({ slug, name }))
}

type OrganizeInput = Parameters<typeof api.conversations.organize.mutate>[0]

/** Pins a conversation, or puts it in a folder. */
export async function organizeConversation(change: OrganizeInput): Promise<void> {
  await updateCache(await api.conversations.organize.mutate(change))
}

async function updateCache(changed: Conversation): Promise<void> {
  queryClient.setQueryData(conversationQueryKey(changed.slug), changed)
  await refreshConversations()
}

export async function changeFolder(name: string, newName: string | null): Promise<void> {
  await api.conversations.changeFolder.mutate({ name, newName })
  await refreshConversations()
}

/** For so long what was deleted is offered back. */
const UNDO_MS = 10_000

const STORAGE_KEY = 'svc:discarded'

/** A conversation that was deleted a moment ago. */
interface DiscardedConversation {
  slug: string
  name: string
  until: number
}

const listeners = new Set<() => void>()
let lastDiscarded = readDiscarded()

/** Also what was deleted before the page was loaded anew. */
function readDiscarded(): DiscardedConversation | undefined {
  const text = sessionStorage.getItem(STORAGE_KEY)
  const discarded = text === null ? undefined : (JSON.parse(text) as DiscardedConversation)
  return discarded && discarded.until > Date.now() ? discarded : undefined
}

function writeDiscarded(discarded: DiscardedConversation | undefined): void {
  lastDiscarded = discarded
  if (discarded) sessionStorage.setItem(STORAGE_KEY, JSON.stringify(discarded))
  else sessionStorage.removeItem(STORAGE_KEY)
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
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

/** What was deleted last, as long as it is offered back. */
export function useDiscarded(): DiscardedConversation | undefined {
  const discarded = useSyncExternalStore(subscribe, () => lastDiscarded)
  useEffect(() => {
    if (!discarded) return
    const timer = setTimeout(() => writeDiscarded(undefined), discarded.until - Date.now())
    return () => clearTimeout(timer)
  }, [discarded])
  return discarded
}
