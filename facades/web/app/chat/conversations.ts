import { infiniteQueryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useSyncExternalStore } from 'react'
import { api, type Conversation, queryClient } from '../shared/api/client.ts'
import { dayText, t } from '../shared/text/labels.ts'

const PAGE_SIZE = 100
/** As many as can be pinned, or lie in a folder and are shown of it. */
const MOST = 200

/** All lists of conversations begin with this. */
const LISTS = 'conversations'

export const conversationKey = (slug: string) => ['conversation', slug]

/** Those that are neither pinned nor in a folder, or all with this in their names. */
const listQuery = (name: string) =>
  infiniteQueryOptions({
    queryKey: [LISTS, 'list', name],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => {
      const page = { size: PAGE_SIZE, ...(pageParam && { after: pageParam }) }
      const which = name === '' ? { isPinned: false, folder: null } : { name }
      return api.conversations.list.query({ page, ...which }, { signal })
    },
    getNextPageParam: ({ meta }) => meta.next ?? undefined,
  })

/** The conversations of the person, those that were changed last first. */
export const useConversations = (name: string) => useInfiniteQuery(listQuery(name))

export const usePinned = () =>
  useQuery({
    queryKey: [LISTS, 'pinned'],
    queryFn: ({ signal }) => api.conversations.list.query({ page: { size: MOST }, isPinned: true }, { signal }),
  }).data?.data ?? []

export const useFolders = () =>
  useQuery({
    queryKey: [LISTS, 'folders'],
    queryFn: ({ signal }) => api.conversations.folders.query(undefined, { signal }),
  }).data ?? []

/** What lies in a folder; read when it is opened. */
export const useFolder = (folder: string, isOpen: boolean) =>
  useQuery({
    queryKey: [LISTS, 'folder', folder],
    enabled: isOpen,
    queryFn: ({ signal }) => api.conversations.list.query({ page: { size: MOST }, folder }, { signal }),
  }).data?.data ?? []

export const refreshConversations = () => queryClient.invalidateQueries({ queryKey: [LISTS] })

/** A conversation begins with the date for its name: names are not encrypted, so none is made from a question. */
export async function createConversation(): Promise<Conversation> {
  const name = t('app.chat.dated', { date: dayText(new Date()) })
  const created = await api.conversations.create.mutate({ name })
  queryClient.setQueryData(conversationKey(created.slug), created)
  void refreshConversations()
  return created
}

export async function renameConversation(slug: string, name: string): Promise<void> {
  await show(await api.conversations.update.mutate({ slug, name }))
}

type Organization = Parameters<typeof api.conversations.organize.mutate>[0]

/** Pins a conversation, or puts it in a folder. */
export async function organizeConversation(change: Organization): Promise<void> {
  await show(await api.conversations.organize.mutate(change))
}

async function show(changed: Conversation): Promise<void> {
  queryClient.setQueryData(conversationKey(changed.slug), changed)
  await refreshConversations()
}

export async function changeFolder(name: string, newName: string | null): Promise<void> {
  await api.conversations.changeFolder.mutate({ name, newName })
  await refreshConversations()
}

/** For so long what was deleted is offered back. */
const OFFERED_MS = 10_000

const SLOT = 'svc:discarded'

/** A conversation that was deleted a moment ago. */
interface Discarded {
  slug: string
  name: string
  until: number
}

const listeners = new Set<() => void>()
let latest = read()

/** Also what was deleted before the page was loaded anew. */
function read(): Discarded | undefined {
  const text = sessionStorage.getItem(SLOT)
  const discarded = text === null ? undefined : (JSON.parse(text) as Discarded)
  return discarded && discarded.until > Date.now() ? discarded : undefined
}

function write(discarded: Discarded | undefined): void {
  latest = discarded
  if (discarded) sessionStorage.setItem(SLOT, JSON.stringify(discarded))
  else sessionStorage.removeItem(SLOT)
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export async function discardConversation({ slug, name }: Conversation): Promise<void> {
  await api.conversations.discard.mutate({ slug })
  write({ slug, name, until: Date.now() + OFFERED_MS })
  await refreshConversations()
}

export async function restoreConversation({ slug }: Discarded): Promise<void> {
  await api.conversations.restore.mutate({ slug })
  write(undefined)
  await refreshConversations()
}

/** What was deleted last, as long as it is offered back. */
export function useDiscarded(): Discarded | undefined {
  const discarded = useSyncExternalStore(subscribe, () => latest)
  useEffect(() => {
    if (!discarded) return
    const timer = setTimeout(() => write(undefined), discarded.until - Date.now())
    return () => clearTimeout(timer)
  }, [discarded])
  return discarded
}
