import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, queryClient } from './api/client.ts'
import type { ConversationKey } from './conversation-key.ts'
import { parseRecord } from './local-store.ts'

/** The settings of a person for all chats. The service stores them encrypted, for all browsers of the person. */
export interface ChatSettings {
  /** Instructions that models get before those of the chat. */
  instructions: string
  /** The model that a new chat begins with; null for the one that was used last. */
  modelId: string | null
  /** True if no model is asked for the titles of chats. */
  hasNoTitles: boolean
}

const noSettings: ChatSettings = { instructions: '', modelId: null, hasNoTitles: false }

const QUERY_KEY = ['chat-settings']

const buildSettingsQuery = (key: ConversationKey) =>
  queryOptions({
    queryKey: QUERY_KEY,
    queryFn: async ({ signal }) => {
      const { sealed } = await api.conversations.settings.query(undefined, { signal })
      return sealed === null ? noSettings : parseSettings(await key.open(sealed).catch(ignoreOtherKey))
    },
    networkMode: 'always',
  })

/** Settings that were encrypted with an earlier key are lost with it. */
const ignoreOtherKey = () => '{}'

function parseSettings(text: string): ChatSettings {
  const { instructions, modelId, hasNoTitles } = parseRecord(text) ?? {}
  return {
    instructions: typeof instructions === 'string' ? instructions : '',
    modelId: typeof modelId === 'string' ? modelId : null,
    hasNoTitles: hasNoTitles === true,
  }
}

export const useChatSettings = (key: ConversationKey) => useQuery(buildSettingsQuery(key))

export const readChatSettings = (key: ConversationKey): Promise<ChatSettings> =>
  queryClient.fetchQuery({ ...buildSettingsQuery(key), staleTime: 30_000 })

export async function saveChatSettings(key: ConversationKey, settings: ChatSettings): Promise<void> {
  const isEmpty = settings.instructions === '' && settings.modelId === null && !settings.hasNoTitles
  await api.conversations.changeSettings.mutate({ sealed: isEmpty ? null : await key.seal(JSON.stringify(settings)) })
  queryClient.setQueryData(QUERY_KEY, settings)
}
