import { api, type Model } from '../../shared/api/client.ts'
import { getRelatedId } from '../../shared/api/related.ts'
import { useRecords } from '../admin-queries.ts'

const PAGE_SIZE = 1000
const page = { size: PAGE_SIZE }

export type Provider = Awaited<ReturnType<typeof api.aiProviders.list.query>>['items'][number]
export type Description = Awaited<ReturnType<typeof api.aiModelDescriptions.list.query>>['items'][number]

/** A model with its provider. */
export interface ModelWithProvider extends Model {
  provider: Provider | undefined
}

export interface Catalogue {
  models: readonly ModelWithProvider[]
  providers: readonly Provider[]
}

/** Reads all models and providers, including inactive ones. */
export const useCatalogue = () =>
  useRecords(['catalogue'], async (signal): Promise<Catalogue> => {
    const [models, providers] = await Promise.all([
      api.aiModels.list.query({ page, include: ['provider'], sort: ['position', 'label'] }, { signal }),
      api.aiProviders.list.query({ page, sort: ['name'] }, { signal }),
    ])
    const byId = new Map(providers.items.map((provider) => [provider.id, provider]))
    return {
      providers: providers.items,
      models: models.items.map((model) => ({ ...model, provider: byId.get(getRelatedId(model, 'provider') ?? '') })),
    }
  })

export const findModelsOf = (catalogue: Catalogue | undefined, id: string) =>
  catalogue?.models.filter(({ provider }) => provider?.id === id) ?? []

/** Reads the descriptions of a model in all languages. */
export const useDescriptions = (id: string) =>
  useRecords(['descriptions', id], async (signal) => {
    const { items } = await api.aiModelDescriptions.list.query({ page }, { signal })
    return items.filter(({ aiModelId }) => String(aiModelId) === id)
  })

export type ModelState = 'online' | 'unknown' | 'offline' | 'off'

export const getModelState = ({ active, status, provider }: ModelWithProvider): ModelState =>
  active && provider?.active !== false ? status : 'off'

export const modelStateLabels = {
  online: 'app.admin.modelOnline',
  unknown: 'app.admin.modelUnknown',
  offline: 'app.admin.modelOffline',
  off: 'app.admin.modelOff',
} as const
export const modelStateKinds = { online: 'ok', unknown: 'idle', offline: 'wrong', off: 'idle' } as const
