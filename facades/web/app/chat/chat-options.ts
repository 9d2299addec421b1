import { queryOptions, useQuery } from '@tanstack/react-query'
import { queryClient } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import type { AiRequest } from '../shared/api/types.ts'
import { TEMPORARY, useDraft } from '../shared/conversation/draft.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { isRecord, parseRecord } from '../shared/local-store.ts'
import type { AnswerModel } from '../shared/models/assistants.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { buildConversationQuery, useConversation } from './conversations.ts'
import { useSystemPrompt } from './system-prompt.ts'

type Parameters = NonNullable<AiRequest['parameters']>

/** Parameters of a conversation, which are stored with it, encrypted. */
export interface ChatOptions {
  parameters: Pick<Parameters, 'temperature' | 'effort' | 'maxTokens'>
  /** True if models may not call their tools. */
  areToolsOff?: boolean
  answerModel?: AnswerModel | undefined
}

const defaultOptions: ChatOptions = { parameters: {} }

function toOptions(value: unknown): ChatOptions {
  if (!isRecord(value) || !isRecord(value['parameters'])) return defaultOptions
  const { parameters, areToolsOff, answerModel } = value
  return { parameters, areToolsOff: areToolsOff === true, answerModel: answerModel as AnswerModel | undefined }
}

const buildOptionsQuery = (key: ConversationKey, sealed: string | null | undefined) =>
  queryOptions({
    queryKey: ['chat-options', sealed],
    enabled: sealed !== undefined,
    queryFn: async () => {
      if (!sealed) return defaultOptions
      const text = await key.open(sealed).catch(() => {
        throw new InputError(t('app.options.unreadable'))
      })
      return toOptions(parseRecord(text))
    },
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    networkMode: 'always',
  })

/** Reads and decrypts the instructions and the options of a conversation. */
export function usePreparation(key: ConversationKey, slug: string) {
  const prompt = useSystemPrompt(key, slug)
  const options = useQuery(buildOptionsQuery(key, useConversation(slug).data?.sealedOptions))
  const error = prompt.error ?? options.error
  const isLoaded = prompt.text !== undefined && options.isSuccess
  return {
    instructions: prompt.text,
    options: options.data ?? defaultOptions,
    error,
    isLoaded,
    isPending: !isLoaded && !error,
    /** True if they can be written anew, also in place of those that can't be decrypted. */
    canChange: isLoaded || prompt.isUnreadable || options.isError,
  }
}

/** Returns the options of a conversation for a request; throws if they can't be read or decrypted. */
export async function readOptions(key: ConversationKey, slug: string): Promise<ChatOptions> {
  const query = { ...buildConversationQuery(key, slug), staleTime: Number.POSITIVE_INFINITY }
  const { sealedOptions } = await queryClient.fetchQuery(query)
  return queryClient.fetchQuery(buildOptionsQuery(key, sealedOptions))
}

/**
 * The instructions and options of a chat that has not begun. They are kept as a draft, encrypted in this browser,
 * unless the chat will be temporary.
 */
export function useFirstOptions(isTemporary: boolean) {
  const { connection, conversationKey } = useSession()
  const name = isTemporary ? `${TEMPORARY}:options` : 'options'
  const draft = useDraft(conversationKey, String(connection.userinfo?.id), name)
  const { instructions: written, options: writtenOptions } = parseRecord(draft.text) ?? {}
  const instructions = typeof written === 'string' ? written : ''
  const options = toOptions(writtenOptions)
  const write = (next: { instructions: string; options: ChatOptions }) => draft.write(JSON.stringify(next))
  return {
    instructions,
    options,
    write,
    /** Has a model answer for the assistant. */
    chooseBase: (answerModel: AnswerModel) => write({ instructions, options: { ...options, answerModel } }),
    clear: () => draft.clear(draft.text),
  }
}
