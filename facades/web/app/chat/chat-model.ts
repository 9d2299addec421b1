import { useEffect, useState } from 'react'
import { useChatSettings } from '../shared/chat-settings.ts'
import { StoredDraft, useStoredDraft } from '../shared/conversation/draft.ts'
import type { ConversationKey } from '../shared/conversation-key.ts'
import { isAssistantId, readHandle } from '../shared/models/assistants.ts'
import { type ChatModel, useChosenModel } from '../shared/models/models.ts'
import { useSession } from '../shared/session.tsx'
import { useConversation } from './conversations.ts'

/** Names the draft of a conversation, or of one that is not created yet. */
export const getDraftName = (slug: string | undefined): string => slug ?? 'new'

/**
 * Returns the model for the next question of a chat: the one that was chosen for it, or else the assistant that answered
 * last in it, or else that of its folder, or else the model used last.
 */
export function useChatModel(slug: string, models: readonly ChatModel[] | undefined, answered: string | undefined) {
  const draft = useDraftModel(slug)
  const assistantId = isAssistantId(answered) ? answered : undefined
  const folder = useConversation(slug).data?.folder ?? null
  const settings = useChatSettings(useSession().conversationKey)
  const folderModel = folder === null ? undefined : settings.data?.folders[folder]?.modelId
  // A model that changes while it is looked at would be asked by mistake.
  const isKnown = draft.isLoaded && (folder === null || !settings.isLoading)
  const preferred = draft.modelId ?? assistantId ?? folderModel ?? undefined
  return usePreferredModel(isKnown ? models : undefined, preferred, draft)
}

/** Returns the model for a first question: the one that was chosen for it, or else the one in the person's settings. */
export function useFirstModel(slug: string | undefined, models: readonly ChatModel[] | undefined) {
  const settings = useChatSettings(useSession().conversationKey)
  const draft = useDraftModel(slug)
  // A model that changes while it is looked at would be asked by mistake.
  const isKnown = draft.isLoaded && !settings.isLoading
  return usePreferredModel(isKnown ? models : undefined, draft.modelId ?? settings.data?.modelId ?? undefined, draft)
}

function usePreferredModel(
  models: readonly ChatModel[] | undefined,
  preferredId: string | undefined,
  { choose, forget }: Pick<ReturnType<typeof useDraftModel>, 'choose' | 'forget'>,
) {
  const { model: last, choose: recordUse } = useChosenModel(models)
  const preferred = models && preferredId !== undefined ? findPreferred(models, preferredId) : undefined
  // A plain model would answer without what the assistant knows, so nobody is asked in its place.
  const isMissing = models !== undefined && !preferred && isAssistantId(preferredId)
  return {
    model: isMissing ? undefined : (preferred ?? last),
    isKnown: models !== undefined,
    /** The name of the chosen assistant, if it cannot be asked. */
    missingAssistant: isMissing ? preferredId : undefined,
    choose,
    /** Records that a model was asked, which ends the choice for this question. An assistant stays chosen. */
    recordUse: (modelId: string, { keepsAssistant = true } = {}) => {
      recordUse(modelId)
      if (!keepsAssistant || !isAssistantId(modelId)) forget()
    },
  }
}

/** Returns a model by its name. If the list has another draft of the assistant by now, that one is returned. */
const findPreferred = (models: readonly ChatModel[], id: string): ChatModel | undefined =>
  models.find(({ modelId }) => modelId === id) ??
  (isAssistantId(id) ? models.findLast(({ assistant }) => assistant?.handle === readHandle(id)) : undefined)

/** Keeps the choice of an assistant for a chat that has just begun. */
export async function keepAssistant(key: ConversationKey, owner: string, slug: string, modelId: string): Promise<void> {
  if (isAssistantId(modelId)) await new StoredDraft(key, owner, buildModelDraftName(slug)).saveOrHold(modelId)
}

const buildModelDraftName = (slug: string | undefined): string => `${getDraftName(slug)}:model`

/** The model that was chosen for the next question, as a part of its draft. */
function useDraftModel(slug: string | undefined) {
  const { connection, conversationKey } = useSession()
  const draft = useStoredDraft(conversationKey, String(connection.userinfo?.id), buildModelDraftName(slug))
  const [chosen, setChosen] = useState<{ modelId: string | undefined }>()
  useEffect(() => {
    let isCurrent = true
    const show = (modelId: string) => isCurrent && setChosen((now) => now ?? { modelId: modelId || undefined })
    void draft.open().then(show)
    return () => {
      isCurrent = false
    }
  }, [draft])
  return {
    modelId: chosen?.modelId,
    isLoaded: chosen !== undefined,
    choose: (modelId: string) => {
      setChosen({ modelId })
      void draft.save(modelId)
    },
    forget: () => {
      setChosen({ modelId: undefined })
      draft.remove()
    },
  }
}
