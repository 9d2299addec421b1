import { useCatalogue } from './catalogue.ts'

interface CatalogueNameProps {
  kind: 'model' | 'provider'
  /** The id by which the usage is recorded. */
  id: string
}

/** The label of a model or the name of a provider; the id if it is gone, or has no other name. */
export function CatalogueName({ kind, id }: CatalogueNameProps) {
  const { data } = useCatalogue()
  const name =
    kind === 'model'
      ? data?.models.find(({ modelId }) => modelId === id)?.label
      : data?.providers.find(({ providerId }) => providerId === id)?.name
  return name || id
}
