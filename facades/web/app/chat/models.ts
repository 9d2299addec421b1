import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, type Model } from '../shared/api/client.ts'

const LAST_MODEL = 'svc:model'

/** The models that the person may ask, with their providers and descriptions. */
export const useModels = () =>
  useQuery({
    queryKey: ['models'],
    staleTime: 5 * 60_000,
    queryFn: async ({ signal }) => {
      const { items } = await api.aiModels.list.query(
        { include: ['provider', 'descriptions', 'tools'], sort: ['label'], page: { size: 1000 } },
        { signal },
      )
      return items.filter(({ active, modelType }) => active && modelType === 'chat')
    },
  })

/** The model that the next question goes to: the one chosen last, or else the first that answers. */
export function useChosenModel(models: readonly Model[] | undefined) {
  const [chosen, setChosen] = useState(() => localStorage.getItem(LAST_MODEL))
  const model = models?.find(({ modelId }) => modelId === chosen) ?? models?.find(isReachable) ?? models?.[0]
  const choose = (modelId: string) => {
    localStorage.setItem(LAST_MODEL, modelId)
    setChosen(modelId)
  }
  return { model, choose }
}

const isReachable = ({ status }: Model) => status !== 'offline'
