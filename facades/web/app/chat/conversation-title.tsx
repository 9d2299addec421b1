import { useQuery } from '@tanstack/react-query'
import { api } from '../shared/api/client.ts'
import { conversationKey } from './conversations.ts'

/** The name of a conversation. */
export function ConversationTitle({ slug }: { slug: string }) {
  const { data } = useQuery({
    queryKey: conversationKey(slug),
    queryFn: ({ signal }) => api.conversations.get.query({ slug }, { signal }),
  })
  return <h1 dir="auto">{data?.name}</h1>
}
