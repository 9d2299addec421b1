import { type InfiniteData, infiniteQueryOptions, useInfiniteQuery } from '@tanstack/react-query'
import { api, type Conversation, queryClient } from '../shared/api/client.ts'
import { dayText, t } from '../shared/text/labels.ts'

type Page = Awaited<ReturnType<typeof api.conversations.list.query>>

const PAGE_SIZE = 100

const conversationsQuery = infiniteQueryOptions({
  queryKey: ['conversations'],
  initialPageParam: undefined as string | undefined,
  queryFn: ({ pageParam, signal }) =>
    api.conversations.list.query({ page: { size: PAGE_SIZE, ...(pageParam && { after: pageParam }) } }, { signal }),
  getNextPageParam: ({ meta }) => meta.next ?? undefined,
})

/** The conversations of the person, those that were changed last first. */
export const useConversations = () => useInfiniteQuery(conversationsQuery)

export const refreshConversations = () => queryClient.invalidateQueries({ queryKey: conversationsQuery.queryKey })

/** Puts a conversation where it belongs after a change: first, or away. */
function editPages(edit: (conversations: Conversation[]) => Conversation[]): void {
  queryClient.setQueryData(conversationsQuery.queryKey, (known: InfiniteData<Page> | undefined) => {
    const [first, ...rest] = known?.pages ?? []
    if (!known || !first) return known
    return {
      ...known,
      pages: [{ ...first, data: edit(first.data) }, ...rest.map((page) => ({ ...page, data: edit(page.data) }))],
    }
  })
}

/** A conversation begins with the date for its name: names are not encrypted, so none is made from a question. */
export async function createConversation(systemPrompt: string | null): Promise<Conversation> {
  const name = t('app.chat.dated', { date: dayText(new Date()) })
  const created = await api.conversations.create.mutate({ name, systemPrompt })
  queryClient.setQueryData(conversationKey(created.slug), created)
  void refreshConversations()
  return created
}

export async function renameConversation(slug: string, name: string): Promise<void> {
  const renamed = await api.conversations.update.mutate({ slug, name })
  queryClient.setQueryData(conversationKey(slug), renamed)
  editPages((all) => all.map((each) => (each.slug === slug ? renamed : each)))
}

export const conversationKey = (slug: string) => ['conversation', slug]
