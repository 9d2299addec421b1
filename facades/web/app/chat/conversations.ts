import { infiniteQueryOptions, queryOptions, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { api, type Conversation, queryClient } from '../shared/api/client.ts'
import { moveFolderSettings } from '../shared/chat-settings.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { useSession } from '../shared/session.tsx'
import { formatShortDate } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { foldText } from '../shared/text/word-pattern.ts'
import { nameByFirstWords, openName } from './conversation-name.ts'
import { beginTemporaryChat, getCalls } from './temporary-chats.ts'

const PAGE_SIZE = 100
/** The most conversations that can be pinned, or are shown of a folder. */
const MAX_CONVERSATIONS = 200

/** The first element of the query keys of all lists. */
const LISTS_KEY = 'conversations'

/** The first element of the query keys of single conversations. */
const CONVERSATION_KEY = 'conversation'

export const getConversationQueryKey = (slug: string) => [CONVERSATION_KEY, slug]

export const buildConversationQuery = (key: ConversationKey, slug: string) =>
  queryOptions({
    queryKey: getConversationQueryKey(slug),
    queryFn: async ({ signal }) => openName(key, await getCalls(slug).get.query({ slug }, { signal })),
    // A question needs the system prompt and doesn't wait until the browser is online.
    networkMode: 'always',
  })

/** Returns a conversation that the page may have read already. */
export const readConversation = (key: ConversationKey, slug: string): Promise<Conversation> =>
  queryClient.fetchQuery({ ...buildConversationQuery(key, slug), staleTime: Number.POSITIVE_INFINITY })

export const useConversation = (slug: string) => useQuery(buildConversationQuery(useSession().conversationKey, slug))

type ListInput = Exclude<Parameters<typeof api.conversations.list.query>[0], void>

/** Reads a page of conversations with their names. */
export async function readConversations(key: ConversationKey, input: ListInput, signal: AbortSignal) {
  const { data, meta } = await api.conversations.list.query(input, { signal })
  return { data: await Promise.all(data.map((each) => openName(key, each))), meta }
}

/** Queries the conversations outside of folders and the archive that are not pinned, or all. */
const buildListQuery = (key: ConversationKey, isWhole: boolean) =>
  infiniteQueryOptions({
    queryKey: [LISTS_KEY, isWhole ? 'all' : 'list'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => {
      const page = { size: isWhole ? MAX_CONVERSATIONS : PAGE_SIZE, ...(pageParam && { after: pageParam }) }
      return readConversations(
        key,
        { page, ...(!isWhole && { isPinned: false, folder: null, isArchived: false }) },
        signal,
      )
    },
    getNextPageParam: ({ meta }) => meta.next ?? undefined,
  })

/**
 * Reads the conversations, those that changed last first. Without a text they are those outside of folders and the
 * archive that are not pinned, else all whose names contain it: only this browser can decrypt the names.
 */
export function useConversations(text: string) {
  const query = useInfiniteQuery(buildListQuery(useSession().conversationKey, text !== ''))
  const { data } = query
  const conversations = useMemo(() => {
    const needle = foldText(text)
    return data?.pages.flatMap((page) => page.data.filter(({ name }) => foldText(name).includes(needle)))
  }, [data, text])
  return { ...query, conversations }
}

export function usePinned(): readonly Conversation[] {
  const { conversationKey: key } = useSession()
  const { data } = useQuery({
    queryKey: [LISTS_KEY, 'pinned'],
    queryFn: ({ signal }) =>
      readConversations(key, { page: { size: MAX_CONVERSATIONS }, isPinned: true, isArchived: false }, signal),
  })
  return data?.data ?? []
}

export const useFolders = () =>
  useQuery({
    queryKey: [LISTS_KEY, 'folders'],
    queryFn: ({ signal }) => api.conversations.folders.query(undefined, { signal }),
  }).data ?? []

/** Reads the conversations of a folder while it is open. */
export function useFolder(folder: string, isOpen: boolean): readonly Conversation[] {
  const { conversationKey: key } = useSession()
  const { data } = useQuery({
    queryKey: [LISTS_KEY, 'folder', folder],
    enabled: isOpen,
    queryFn: ({ signal }) =>
      readConversations(key, { page: { size: MAX_CONVERSATIONS }, folder, isArchived: false }, signal),
  })
  return data?.data ?? []
}

/** Returns true if there are archived conversations. */
export const useHasArchive = (): boolean =>
  useQuery({
    queryKey: [LISTS_KEY, 'hasArchive'],
    queryFn: async ({ signal }) => {
      const { data } = await api.conversations.list.query({ page: { size: 1 }, isArchived: true }, { signal })
      return data.length > 0
    },
  }).data ?? false

/** Reads the archived conversations, those that changed last first. */
export function useArchive() {
  const { conversationKey: key } = useSession()
  const query = useInfiniteQuery({
    queryKey: [LISTS_KEY, 'archive'],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) => {
      const page = { size: PAGE_SIZE, ...(pageParam && { after: pageParam }) }
      return readConversations(key, { page, isArchived: true }, signal)
    },
    getNextPageParam: ({ meta }) => meta.next ?? undefined,
  })
  return { ...query, conversations: query.data?.pages.flatMap(({ data }) => data) ?? [] }
}

export const refreshConversations = () => queryClient.invalidateQueries({ queryKey: [LISTS_KEY] })

/** Lists the names of the other conversations that this page has read. */
export function listKnownNames(slug: string): Set<string> {
  const others = queryClient
    .getQueriesData<{ pages?: { data: Conversation[] }[]; data?: Conversation[] }>({ queryKey: [LISTS_KEY] })
    .flatMap(([, list]) => [list?.data, ...(list?.pages?.map(({ data }) => data) ?? [])])
    .flatMap((conversations) => (Array.isArray(conversations) ? conversations : []))
    .filter((conversation) => conversation.slug !== slug)
  return new Set(others.map(({ name }) => name))
}

/** Creates a conversation that is named by its first question, encrypted, and for other programs by the date. */
export async function createConversation(
  key: ConversationKey,
  question: string,
  preparation: Preparation,
): Promise<Conversation> {
  const name = t('app.chat.dated', { date: formatShortDate(new Date()) })
  const firstWords = nameByFirstWords(question)
  const sealedName = firstWords === '' ? null : await key.seal(firstWords)
  const created = await openName(
    key,
    await api.conversations.create.mutate({ name, sealedName, ...(await sealPreparation(key, preparation)) }),
  )
  queryClient.setQueryData(getConversationQueryKey(created.slug), created)
  void refreshConversations()
  return created
}

/** Creates a conversation that only this page has. */
export const createTemporaryChat = async (key: ConversationKey, preparation: Preparation): Promise<string> =>
  beginTemporaryChat(await sealPreparation(key, preparation))

/** The instructions and the options of a conversation. */
interface Preparation {
  instructions: string
  options: { parameters: object; areToolsOff?: boolean; answerModel?: { modelId: string } | undefined }
}

const sealPreparation = async (key: ConversationKey, { instructions, options }: Preparation) => ({
  systemPrompt: instructions === '' ? null : await key.seal(instructions),
  sealedOptions: isUsual(options) ? null : await key.seal(JSON.stringify(options)),
})

const isUsual = ({ parameters, areToolsOff = false, answerModel }: Preparation['options']): boolean =>
  !(areToolsOff || answerModel?.modelId) && Object.keys(parameters).length === 0

export const saveOptions = async (key: ConversationKey, slug: string, options: Preparation): Promise<void> =>
  changeConversation(key, { slug, ...(await sealPreparation(key, options)) })

export const renameConversation = async (key: ConversationKey, slug: string, name: string): Promise<void> =>
  changeConversation(key, { slug, sealedName: await key.seal(name) })

type ConversationChange = Parameters<typeof api.conversations.update.mutate>[0]

export const changeConversation = async (key: ConversationKey, change: ConversationChange): Promise<void> =>
  updateCache(key, await getCalls(change.slug).update.mutate(change))

type OrganizeInput = Parameters<typeof api.conversations.organize.mutate>[0]

/** Pins or archives a conversation, or moves it to a folder. */
export async function organizeConversation(key: ConversationKey, change: OrganizeInput): Promise<void> {
  await updateCache(key, await api.conversations.organize.mutate(change))
}

async function updateCache(key: ConversationKey, changed: Conversation): Promise<void> {
  queryClient.setQueryData(getConversationQueryKey(changed.slug), await openName(key, changed))
  await refreshConversations()
}

export async function changeFolder(key: ConversationKey, name: string, newName: string | null): Promise<void> {
  await api.conversations.changeFolder.mutate({ name, newName })
  await moveFolderSettings(key, name, newName).finally(refreshConversations)
}
