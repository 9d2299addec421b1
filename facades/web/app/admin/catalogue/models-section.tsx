import { Link } from '@tanstack/react-router'
import { t } from '../../shared/text/labels.ts'
import { useLocalRows } from '../local-rows.ts'
import { StateBadge } from '../parts.tsx'
import { ChoiceField, type Column, RecordTable, SearchField } from '../record-table.tsx'
import { getModelState, type ModelWithProvider, modelStateKinds, modelStateLabels, useCatalogue } from './catalogue.ts'
import { AddModel } from './model-dialogs.tsx'
import { listGroups, listSurfaces, ModelPage } from './model-page.tsx'
import { formatPrice } from './prices.tsx'

const buildColumns = (): Column<ModelWithProvider>[] => [
  {
    key: 'label',
    label: t('app.admin.model'),
    cell: ({ id, label, modelId }) => (
      <span>
        <Link to="/admin/$section/$id" params={{ section: 'models', id }}>
          {label}
        </Link>
        <span className="sub">{modelId}</span>
      </span>
    ),
    text: ({ modelId }) => modelId,
    isSortable: true,
  },
  {
    key: 'provider',
    label: t('app.admin.provider'),
    cell: ({ provider }) => provider?.name,
    text: ({ provider }) => provider?.name ?? '',
    isSortable: true,
  },
  {
    key: 'position',
    label: t('app.admin.position'),
    cell: ({ position }) => position,
    text: ({ position }) => position,
    isSortable: true,
    isNumber: true,
  },
  { key: 'type', label: t('app.admin.kind'), cell: ({ modelType }) => modelType, text: ({ modelType }) => modelType },
  { key: 'surfaces', label: t('app.admin.surfaces'), cell: listSurfaces, text: listSurfaces },
  { key: 'groups', label: t('app.admin.groups'), cell: listGroups, text: listGroups },
  {
    key: 'price',
    label: t('app.admin.price'),
    cell: (model) => formatPrice(model) ?? <StateBadge kind="wrong">{t('app.admin.priceUnknown')}</StateBadge>,
    text: (model) => formatPrice(model) ?? '',
  },
  {
    key: 'state',
    label: t('app.admin.state'),
    cell: (model) => (
      <StateBadge kind={modelStateKinds[getModelState(model)]}>{t(modelStateLabels[getModelState(model)])}</StateBadge>
    ),
    text: getModelState,
    isSortable: true,
  },
]

export const ModelsSection = ({ id }: { id?: string | undefined }) =>
  id === undefined ? <ModelList /> : <ModelPage id={id} />

/** Lists all models, including inactive ones. */
function ModelList() {
  const { data, error } = useCatalogue()
  const rows = useLocalRows({
    records: data?.models,
    error,
    columns: buildColumns(),
    texts: ({ label, modelId }) => [label, modelId],
    matchesFilters: (model, { provider, state }) =>
      (!provider || model.provider?.id === provider) && (!state || getModelState(model) === state),
  })
  return (
    <RecordTable
      label={t('app.admin.models')}
      columns={buildColumns()}
      rowKey={({ id }) => id}
      {...rows}
      none={t('app.admin.noModels')}
      filters={
        <>
          <SearchField name="q" label={t('app.admin.searchModels')} />
          <ChoiceField
            name="provider"
            label={t('app.admin.provider')}
            choices={(data?.providers ?? []).map(({ id, name }) => [id, name])}
          />
          <ChoiceField
            name="state"
            label={t('app.admin.state')}
            choices={Object.entries(modelStateLabels).map(([state, label]) => [state, t(label)])}
          />
        </>
      }
      actions={<AddModel providers={data?.providers ?? []} />}
    />
  )
}
