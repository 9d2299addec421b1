import { useQuery } from '@tanstack/react-query'
import { type Assistant, api, type Model, queryClient } from '../api/client.ts'
import { getRelatedId } from '../api/related.ts'
import { useModelHistory } from './model-history.ts'

/** A model with its provider's name and its description. */
export interface ChatModel extends Model {
  providerName: string
  description: string | undefined
  /** True for the model that administrators have chosen for first chats. */
  isDefault: boolean
  /** Present for an assistant, which is asked as models are; `base` answers for it. */
  assistant?: Assistant & { base: ChatModel }
}

/** The model of a fresh installation, which answers one sample question. */
export const DEMO_MODEL = 'demo'

const ALL = { page: { size: 1000 } }
const TASKS = { page: { size: 200 } }

/** The first element of the key of the query of models. */
export const MODELS_KEY = 'models'

/** Returns a model that the page has read. */
export const findModel = (modelId: string): ChatModel | undefined =>
  queryClient.getQueryData<ChatModel[]>([MODELS_KEY])?.find((model) => model.modelId === modelId)

/** Reads the chat models that the person may use. */
export const useModels = () =>
  useQuery({
    queryKey: [MODELS_KEY],
    staleTime: 5 * 60_000,
    queryFn: async ({ signal }): Promise<ChatModel[]> => {
      const [models, providers, descriptions, tasks] = await Promise.all([
        api.aiModels.list.query({ ...ALL, include: ['provider'], sort: ['position', 'label'] }, { signal }),
        api.aiProviders.list.query(ALL, { signal }),
        api.aiModelDescriptions.list.query(ALL, { signal }),
        api.systemModels.list.query(TASKS, { signal }),
      ])
      const defaultId = tasks.items.find(({ modelType }) => modelType === 'default')?.modelId
      const names = new Map(providers.items.map(({ id, name }) => [id, name]))
      const texts = new Map(descriptions.items.map(({ aiModelId, description }) => [String(aiModelId), description]))
      return models.items
        .filter(({ active, modelType }) => active && modelType === 'chat')
        .map((model) => ({
          ...model,
          providerName: names.get(getRelatedId(model, 'provider') ?? '') ?? '',
          description: texts.get(model.id),
          isDefault: model.modelId === defaultId,
        }))
    },
  })

export const refreshModels = () => queryClient.invalidateQueries({ queryKey: [MODELS_KEY] })

/** Returns the model for the next question: the one used last, or else the default, or else the first reachable one. */
export function useChosenModel(models: readonly ChatModel[] | undefined) {
  const { history, recordUse } = useModelHistory()
  // An assistant answers in the chats that it was chosen for.
  const last = history.recent.flatMap((id) => models?.find(isModel(id)) ?? [])[0]
  const model = last ?? models?.find(({ isDefault }) => isDefault) ?? models?.find(isReachable) ?? models?.[0]
  return { model, choose: recordUse }
}

const isModel =
  (id: string) =>
  ({ modelId, assistant }: ChatModel): boolean =>
    modelId === id && !assistant

const isReachable = ({ status }: Model) => status !== 'offline'

/** Returns the label of a model or an assistant, or its id or handle if it is no longer offered. */
export const findModelLabel = (modelId: string, models: readonly ChatModel[]): string =>
  (models.find((model) => model.modelId === modelId) ?? models.find((model) => model.modelId === dropVersion(modelId)))
    ?.label ?? modelId.replace(/^assistant\//, '@')

/** Models have names with an at sign, too, but none of another model before it. */
const dropVersion = (modelId: string): string => modelId.replace(/^(assistant\/[^@]*)@\d+$/, '$1')
