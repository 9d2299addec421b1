import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, queryClient } from './api/client.ts'
import type { ConversationKey } from './conversation-key.ts'
import { isRecord, parseRecord } from './local-store.ts'

/** The settings of a person for all chats. The service stores them encrypted, for all browsers of the person. */
export interface ChatSettings {
  /** Instructions that models get before those of the chat. */
  instructions: string
  /** The model that a new chat begins with; null for the one that was used last. */
  modelId: string | null
  /** True if no model is asked for the titles of chats. */
  hasNoTitles: boolean
  /** What holds for the chats of folders, by their names. */
  folders: Readonly<Record<string, FolderSettings>>
}

export interface FolderSettings {
  /** Instructions that models get after those for all chats and before those of the chat. */
  instructions: string
  /** The model for the next question of a chat, unless another one is chosen; null for the one used last. */
  modelId: string | null
}

const noSettings: ChatSettings = { instructions: '', modelId: null, hasNoTitles: false, folders: {} }

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
  const { instructions, modelId, hasNoTitles, folders } = parseRecord(text) ?? {}
  return {
    instructions: typeof instructions === 'string' ? instructions : '',
    modelId: typeof modelId === 'string' ? modelId : null,
    hasNoTitles: hasNoTitles === true,
    folders: parseFolders(folders),
  }
}

const parseFolders = (value: unknown): ChatSettings['folders'] =>
  Object.fromEntries(
    Object.entries(isRecord(value) ? value : {}).map(([name, settings]) => {
      const { instructions, modelId } = isRecord(settings) ? settings : {}
      return [
        name,
        {
          instructions: typeof instructions === 'string' ? instructions : '',
          modelId: typeof modelId === 'string' ? modelId : null,
        },
      ]
    }),
  )

export const useChatSettings = (key: ConversationKey) => useQuery(buildSettingsQuery(key))

export const readChatSettings = (key: ConversationKey): Promise<ChatSettings> =>
  queryClient.fetchQuery({ ...buildSettingsQuery(key), staleTime: 30_000 })

/** Changes what the service has now, as another tab may have changed the rest since this one has read it. */
export async function changeChatSettings(
  key: ConversationKey,
  change: (settings: ChatSettings) => ChatSettings,
): Promise<void> {
  const settings = change(await queryClient.fetchQuery({ ...buildSettingsQuery(key), staleTime: 0 }))
  const { instructions, modelId, hasNoTitles, folders } = settings
  const isEmpty = instructions === '' && modelId === null && !hasNoTitles && Object.keys(folders).length === 0
  await api.conversations.changeSettings.mutate({ sealed: isEmpty ? null : await key.seal(JSON.stringify(settings)) })
  queryClient.setQueryData(QUERY_KEY, settings)
}

/** Saves what holds for the chats of a folder. */
export const saveFolderSettings = (key: ConversationKey, name: string, folder: FolderSettings): Promise<void> =>
  changeChatSettings(key, (settings) => {
    const { [name]: _, ...others } = settings.folders
    const isEmpty = folder.instructions === '' && folder.modelId === null
    return { ...settings, folders: isEmpty ? others : { ...others, [name]: folder } }
  })

/**
 * Lets what holds for a folder follow its new name, unless something holds for the folder of that name already. Null as
 * the new name removes it.
 */
export async function moveFolderSettings(key: ConversationKey, name: string, newName: string | null): Promise<void> {
  if (!(await readChatSettings(key)).folders[name] || name === newName) return
  await changeChatSettings(key, (settings) => {
    const { [name]: moved, ...others } = settings.folders
    return { ...settings, folders: newName === null || !moved ? others : { [newName]: moved, ...others } }
  })
}
