import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Model } from '../api/client.ts'
import { getRelatedId } from '../api/related.ts'
import { type Session, useSession } from '../session.tsx'
import { language, t } from '../text/labels.ts'

/** A model with its provider's name and its description. */
export interface ChatModel extends Model {
  providerName: string
  description: string | undefined
}

const getStorageKey = ({ connection }: Session) => `svc:model:${connection.userinfo?.id}`
const ALL = { page: { size: 1000 } }

/** Reads the chat models that the person may use. */
export const useModels = () =>
  useQuery({
    queryKey: ['models'],
    staleTime: 5 * 60_000,
    queryFn: async ({ signal }): Promise<ChatModel[]> => {
      const [models, providers, descriptions] = await Promise.all([
        api.aiModels.list.query({ ...ALL, include: ['provider'], sort: ['position', 'label'] }, { signal }),
        api.aiProviders.list.query(ALL, { signal }),
        api.aiModelDescriptions.list.query(ALL, { signal }),
      ])
      const names = new Map(providers.items.map(({ id, name }) => [id, name]))
      const texts = new Map(descriptions.items.map(({ aiModelId, description }) => [String(aiModelId), description]))
      return models.items
        .filter(({ active, modelType }) => active && modelType === 'chat')
        .map((model) => ({
          ...model,
          providerName: names.get(getRelatedId(model, 'provider') ?? '') ?? '',
          description: texts.get(model.id),
        }))
    },
  })

/** Returns the model for the next question: the one chosen last, or else the first that is reachable. */
export function useChosenModel(models: readonly ChatModel[] | undefined) {
  const storageKey = getStorageKey(useSession())
  const [selectedId, setSelectedId] = useState(() => localStorage.getItem(storageKey))
  const model = models?.find(({ modelId }) => modelId === selectedId) ?? models?.find(isReachable) ?? models?.[0]
  const choose = (modelId: string) => {
    localStorage.setItem(storageKey, modelId)
    setSelectedId(modelId)
  }
  return { model, choose }
}

const isReachable = ({ status }: Model) => status !== 'offline'

/** Returns the label of a model, or its id if it is no longer offered. */
export const findModelLabel = (modelId: string, models: readonly ChatModel[]): string =>
  models.find((model) => model.modelId === modelId)?.label ?? modelId

const compactNumber = new Intl.NumberFormat(language, { notation: 'compact' })

/** Lists the known facts that distinguish a model. */
export function describeModel(model: ChatModel): string[] {
  const { limits, status, input, providerName } = model
  const most = limits?.maxInputTokens
  const facts = [
    providerName,
    most && t('app.model.reads', { tokens: compactNumber.format(most) }),
    input.includes('image') && t('app.model.images'),
    formatPrice(model),
    status === 'offline' && t('app.model.offline'),
  ]
  return facts.filter((fact): fact is string => Boolean(fact))
}

const MILLION = 1_000_000

/** Formats the price of a million input and output tokens. */
function formatPrice({ pricing }: Model): string | undefined {
  if (!pricing) return undefined
  if ('free' in pricing) return t('app.model.free')
  const range = pricing.ranges?.[0]
  if (!range) return undefined
  const { currency, inputCostPerToken, outputCostPerToken } = range
  const money = new Intl.NumberFormat(language, { style: 'currency', currency, maximumFractionDigits: 2 })
  const [input, output] = [inputCostPerToken ?? 0, outputCostPerToken ?? 0].map((cost) => money.format(cost * MILLION))
  return t('app.model.price', { input: input ?? '', output: output ?? '' })
}
