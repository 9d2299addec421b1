import { Link } from '@tanstack/react-router'
import { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { columnsOf } from '../columns.tsx'
import { OnOffBadge } from '../parts.tsx'
import { defineForm, FormButton } from '../record-form.tsx'
import { defineSection } from '../section.tsx'
import { type Catalogue, findModelsOf, type Provider, useCatalogue } from './catalogue.ts'
import { CheckModels, getAddress, ProviderPage } from './provider-page.tsx'

const column = columnsOf<Provider>('aiProviders.update')

/** Lists all providers, including inactive ones. */
const ProviderList = defineSection({
  labels: {
    title: 'app.admin.providers',
    search: 'app.admin.searchProviders',
    none: 'app.admin.noProviders',
    empty: 'app.admin.providersEmpty',
  },
  useData: useCatalogue,
  getRows: ({ providers }) => providers,
  rowKey: ({ id }) => id,
  texts: ({ name, providerId, apiUrl }) => [name, providerId, apiUrl],
  columns: (catalogue) => [
    column('name', {
      label: t('app.field.provider'),
      cell: ({ id, name }) => (
        <Link to="/admin/$section/$id" params={{ section: 'providers', id }}>
          {name}
        </Link>
      ),
      isSortable: true,
    }),
    column('adapter'),
    column('apiUrl', { cell: getAddress, text: getAddress }),
    buildModelCount(catalogue),
    column('active', { label: t('app.admin.state'), cell: ({ active = false }) => <OnOffBadge isOn={active} /> }),
  ],
  actions: () => (
    <>
      <CheckModels />
      <AddProvider />
    </>
  ),
})

const buildModelCount = (catalogue: Catalogue | undefined) => {
  const countModels = ({ id }: Provider) => findModelsOf(catalogue, id).length
  return {
    key: 'models',
    label: t('app.admin.models'),
    cell: countModels,
    text: countModels,
    isSortable: true,
    isNumber: true,
  }
}

export const ProvidersSection = ({ id }: { id?: string | undefined }) =>
  id === undefined ? <ProviderList /> : <ProviderPage id={id} />

const newProvider = defineForm('aiProviders.create', ['name', 'providerId', 'adapter', 'apiUrl', 'apiKey'])

const AddProvider = () => (
  <FormButton
    label={t('app.admin.addProvider')}
    kind="primary"
    title={t('app.admin.addProvider')}
    text={t('app.admin.addProviderText')}
    width="wide"
    action={t('app.admin.add')}
    form={newProvider}
    save={(provider) => api.aiProviders.create.mutate({ ...provider, active: false })}
  />
)
