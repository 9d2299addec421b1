import { t } from '../text/labels.ts'
import type { ModelHistory } from './model-history.ts'
import type { ChatModel } from './models.ts'

/** Models below a heading. */
export interface ModelGroup {
  name: string
  /** True if the models have several providers. */
  isMixed: boolean
  items: readonly ChatModel[]
}

/**
 * Groups models by provider, after the favourites, those that were used last, and the assistants. Each is in one group.
 */
export function groupModels(models: readonly ChatModel[], { recent, favourites }: ModelHistory): ModelGroup[] {
  const left = new Map(models.map((model) => [model.modelId, model]))
  const take = (ids: readonly string[]) =>
    ids.flatMap((id) => {
      const model = left.get(id)
      left.delete(id)
      return model ?? []
    })
  const marked = models.flatMap(({ modelId, assistant }) => (assistant?.isFavorite ? modelId : []))
  const mixed = [
    { name: t('app.model.favourites'), isMixed: true, items: take([...favourites, ...marked]).toSorted(byLabel) },
    { name: t('app.model.recent'), isMixed: true, items: take(recent) },
  ]
  const rest = [...left.values()].toSorted((one, other) => Number(!one.assistant) - Number(!other.assistant))
  const byProvider = [...Map.groupBy(rest, ({ providerName }) => providerName)].map(([name, items]) => ({
    name,
    isMixed: false,
    items,
  }))
  return [...mixed, ...byProvider].filter(({ items }) => items.length > 0)
}

const byLabel = (one: ChatModel, other: ChatModel) => one.label.localeCompare(other.label)
