import { queryOptions, useQuery } from '@tanstack/react-query'
import { queryClient } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { t } from '../shared/text/labels.ts'
import { buildConversationQuery, useConversation } from './conversations.ts'

interface SystemPrompt {
  /** Empty if the conversation has none; undefined if it is not known. */
  text: string | undefined
  error: unknown
  /** True if it is damaged or encrypted with another key. */
  isUnreadable: boolean
}

const buildPromptQuery = (key: ConversationKey, sealed: string | null | undefined) =>
  queryOptions({
    queryKey: ['system-prompt', sealed],
    enabled: sealed !== undefined,
    queryFn: async () => {
      if (!sealed) return ''
      return key.open(sealed).catch(() => {
        throw new InputError(t('app.options.unreadable'))
      })
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    networkMode: 'always',
  })

/** Reads and decrypts the system prompt of a conversation. */
export function useSystemPrompt(key: ConversationKey, slug: string): SystemPrompt {
  const conversation = useConversation(slug)
  const prompt = useQuery(buildPromptQuery(key, conversation.data?.systemPrompt))
  const error = conversation.isLoadingError ? conversation.error : prompt.error
  return { text: prompt.data, error, isUnreadable: prompt.isError }
}

/** Returns the system prompt of a conversation for a request; throws if it can't be read or decrypted. */
export async function readSystemPrompt(key: ConversationKey, slug: string): Promise<string> {
  const query = { ...buildConversationQuery(key, slug), staleTime: Number.POSITIVE_INFINITY }
  const { systemPrompt } = await queryClient.fetchQuery(query)
  return queryClient.fetchQuery(buildPromptQuery(key, systemPrompt))
}
