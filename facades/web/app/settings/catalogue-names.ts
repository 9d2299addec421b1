import { useQuery } from '@tanstack/react-query'
import { api } from '../shared/api/client.ts'

/** The labels of models and the names of providers by their ids. */
export interface CatalogueNames {
  models: ReadonlyMap<string, string>
  providers: ReadonlyMap<string, string>
}

const ALL = { page: { size: 1000 } }
const noNames: CatalogueNames = { models: new Map(), providers: new Map() }

/** Reads the names of the models and providers that the person may see, of every type of model. */
export function useCatalogueNames(): CatalogueNames {
  const { data = noNames } = useQuery({
    queryKey: ['catalogue names'],
    queryFn: async ({ signal }): Promise<CatalogueNames> => {
      const [models, providers] = await Promise.all([
        api.aiModels.list.query(ALL, { signal }),
        api.aiProviders.list.query(ALL, { signal }),
      ])
      return {
        models: new Map(models.items.map(({ modelId, label }) => [modelId, label])),
        providers: new Map(providers.items.map(({ providerId, name }) => [providerId, name])),
      }
    },
  })
  return data
}
