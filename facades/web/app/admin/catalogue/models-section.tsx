import { Link } from '@tanstack/react-router'
import { t } from '../../shared/text/labels.ts'
import { CellText } from '../../shared/ui/table.tsx'
import { columnsOf, stateColumn } from '../columns.tsx'
import { StateBadge } from '../parts.tsx'
import { ChoiceField } from '../record-table.tsx'
import { defineSection } from '../section.tsx'
import { getModelState, type ModelWithProvider, modelStateKinds, modelStateLabels, useCatalogue } from './catalogue.ts'
import { AddModel } from './model-dialogs.tsx'
import { listGroups, ModelPage } from './model-page.tsx'
import { formatPrice } from './prices.tsx'

const column = columnsOf<ModelWithProvider>('aiModels.update')

/** Lists all models, including inactive ones. */
const ModelList = defineSection({
  labels: {
    title: 'app.admin.models',
    search: 'app.admin.searchModels',
    none: 'app.admin.noModels',
    empty: 'app.admin.modelsEmpty',
  },
  useData: useCatalogue,
  getRows: ({ models }) => models,
  rowKey: ({ id }) => id,
  texts: ({ label, modelId }) => [label, modelId],
  columns: [
    column('label', {
      label: t('app.field.model'),
      cell: ({ id, label, modelId }) => (
        <CellText note={modelId}>
          <Link to="/admin/$section/$id" params={{ section: 'models', id }}>
            {label}
          </Link>
        </CellText>
      ),
      text: ({ modelId }) => modelId,
      isSortable: true,
    }),
    column('provider', {
      cell: ({ provider }) => provider?.name,
      text: ({ provider }) => provider?.name ?? '',
      isSortable: true,
    }),
    column('position', { isSortable: true }),
    column('modelType'),
    column('usageTypes', { empty: t('app.admin.none') }),
    column('groups', { cell: listGroups, text: listGroups }),
    column('pricing', {
      label: t('app.admin.price'),
      cell: (model) => formatPrice(model) ?? <StateBadge kind="wrong">{t('app.admin.priceUnknown')}</StateBadge>,
      text: (model) => formatPrice(model) ?? '',
      isNumber: true,
    }),
    stateColumn(
      { find: getModelState, kinds: modelStateKinds, describe: (state) => t(modelStateLabels[state]) },
      { isSortable: true },
    ),
  ],
  matchesFilters: (model, { provider, state }) =>
    (!provider || model.provider?.id === provider) && (!state || getModelState(model) === state),
  filters: (catalogue) => (
    <>
      <ChoiceField
        name="provider"
        label={t('app.field.provider')}
        choices={(catalogue?.providers ?? []).map(({ id, name }) => [id, name])}
      />
      <ChoiceField
        name="state"
        label={t('app.admin.state')}
        choices={Object.entries(modelStateLabels).map(([state, label]) => [state, t(label)])}
      />
    </>
  ),
  actions: (catalogue) => <AddModel providers={catalogue?.providers ?? []} />,
})

export const ModelsSection = ({ id }: { id?: string | undefined }) =>
  id === undefined ? <ModelList /> : <ModelPage id={id} />
