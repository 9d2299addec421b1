import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type Assistant, api, queryClient } from '../api/client.ts'
import { t } from '../text/labels.ts'
import { type ChatModel, findModel, useModels } from './models.ts'

/** The beginning of the names by which assistants are asked. */
const PREFIX = 'assistant/'

/** Returns the name by which an assistant is asked, or one of its versions. */
export const buildAssistantId = (handle: string, version?: number): string =>
  `${PREFIX}${handle}${version === undefined ? '' : `@${version}`}`

export const isAssistantId = (modelId: string | undefined): boolean => modelId?.startsWith(PREFIX) === true

/** Returns the handle in the name by which an assistant is asked. */
export const readHandle = (modelId: string): string => modelId.slice(PREFIX.length).replace(/@.*/, '')

/** The first element of the keys of all queries of assistants. */
export const ASSISTANTS_KEY = 'assistants'

const LIST_KEY = [ASSISTANTS_KEY, 'list']
const PAGE_SIZE = 200

/** Reads the assistants that the person may use or change, by name; with `isFresh` also if they were read before. */
export const useAssistants = ({ isFresh = false } = {}) =>
  useQuery({
    queryKey: LIST_KEY,
    staleTime: 5 * 60_000,
    refetchOnMount: isFresh ? 'always' : true,
    queryFn: async ({ signal }): Promise<Assistant[]> => {
      const all: Assistant[] = []
      for (;;) {
        const input = { limit: PAGE_SIZE, offset: all.length }
        const { assistants, total } = await api.assistants.list.query(input, { signal })
        all.push(...assistants)
        if (assistants.length < PAGE_SIZE || all.length >= total) return all
      }
    },
  })

export const refreshAssistants = () => queryClient.invalidateQueries({ queryKey: [ASSISTANTS_KEY] })

/** Marks an assistant as a favourite of the person, or no longer. Rejects with what it was before if that fails. */
export async function toggleFavouriteAssistant({ handle, isFavorite }: Assistant): Promise<void> {
  const mark = (isFavorite: boolean) =>
    queryClient.setQueryData<Assistant[]>(LIST_KEY, (all) =>
      all?.map((each) => (each.handle === handle ? { ...each, isFavorite } : each)),
    )
  mark(!isFavorite)
  try {
    await api.assistants.favorite.mutate({ handle, isFavorite: !isFavorite })
  } catch (error) {
    mark(isFavorite)
    throw error
  } finally {
    void refreshAssistants()
  }
}

/**
 * Reads what may be asked in a chat: models, and then assistants whose models may be asked, and the one for which the
 * person has chosen a model in this chat.
 */
export function useAskable(chosen?: AnswerModel): { data: readonly ChatModel[] | undefined; error: unknown } {
  const models = useModels()
  const assistants = useAssistants()
  const { handle, modelId } = chosen ?? {}
  const data = useMemo(() => {
    if (!(models.data && assistants.data)) return undefined
    const choice = handle !== undefined && modelId !== undefined ? { handle, modelId } : undefined
    return [...models.data, ...toChatModels(assistants.data, models.data, choice)]
  }, [models.data, assistants.data, handle, modelId])
  return { data, error: models.error ?? assistants.error }
}

/** Returns the model that answers for an assistant: its own, or the first fallback that the person may ask. */
export const findAnsweringModel = (
  { model, fallback }: Pick<Assistant, 'model' | 'fallback'>,
  models: readonly ChatModel[],
): ChatModel | undefined =>
  [model, ...fallback].flatMap((name) => models.find(({ modelId }) => modelId === name) ?? [])[0]

/** Makes a model of each published assistant, and of each draft that the person may try. */
const toChatModels = (
  assistants: readonly Assistant[],
  models: readonly ChatModel[],
  chosen: AnswerModel | undefined,
): ChatModel[] =>
  assistants.flatMap((assistant) => {
    const chosenId = readChoice(assistant, chosen)
    const base = findAnsweringModel(assistant, models) ?? models.find(({ modelId }) => modelId === chosenId)
    if (!base) return []
    const { handle, name, published, latest, mayEdit } = assistant
    const whole = toChatModel(assistant, base)
    const draft = {
      ...whole,
      modelId: buildAssistantId(handle, latest),
      label: t('app.assistants.draftOf', { name, version: latest }),
    }
    return [...(published === null ? [] : [whole]), ...(mayEdit && published !== latest ? [draft] : [])]
  })

const toChatModel = (assistant: Assistant, base: ChatModel): ChatModel => ({
  ...base,
  modelId: buildAssistantId(assistant.handle),
  label: assistant.name,
  description: assistant.description || undefined,
  providerName: t('app.assistants'),
  isDefault: false,
  deprecationDate: null,
  successor: null,
  assistant: { ...assistant, base },
})

/** A model that a person has chosen for a chat to answer for an assistant in place of its own. */
export interface AnswerModel {
  handle: string
  modelId: string
}

/** Returns the model that was chosen to answer for an assistant, if the assistant allows that, and the person may ask it. */
export function findChosenBase(modelId: string, chosen: AnswerModel | undefined): ChatModel | undefined {
  const assistant = isAssistantId(modelId) && chosen ? findAssistant(modelId) : undefined
  const chosenId = assistant && readChoice(assistant, chosen)
  return chosenId === undefined ? undefined : findModel(chosenId)
}

/** Returns the name of the model that was chosen to answer for an assistant, if the assistant allows that. */
const readChoice = ({ handle, allowModelSelect }: Assistant, chosen: AnswerModel | undefined): string | undefined =>
  allowModelSelect && handle === chosen?.handle ? chosen.modelId : undefined

/** Returns a model, or an assistant with the model that was chosen to answer for it. */
export function withChosenBase(model: ChatModel | undefined, chosen: AnswerModel | undefined): ChatModel | undefined {
  if (!model?.assistant) return model
  const { assistant, modelId, label } = model
  const base = findChosenBase(modelId, chosen)
  return base ? { ...toChatModel(assistant, base), modelId, label } : model
}

/** Returns the model that answers by a name: that of an assistant which the page has read, or the name itself. */
export function findBaseId(modelId: string): string {
  if (!isAssistantId(modelId)) return modelId
  const assistant = findAssistant(modelId)
  if (!assistant) return modelId
  return [assistant.model, ...assistant.fallback].find((name) => findModel(name)) ?? modelId
}

/** Returns the most input tokens of a model; undefined if that is not known, or the models are not read yet. */
export const findMaxInput = (modelId: string): number | undefined =>
  findModel(findBaseId(modelId))?.limits?.maxInputTokens ?? undefined

const findAssistant = (modelId: string): Assistant | undefined =>
  queryClient.getQueryData<Assistant[]>(LIST_KEY)?.find(({ handle }) => handle === readHandle(modelId))
