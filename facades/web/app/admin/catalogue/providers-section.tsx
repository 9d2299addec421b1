import { Link } from '@tanstack/react-router'
import { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { Field } from '../../shared/ui/field.tsx'
import { ActionButton } from '../action-button.tsx'
import { ChoiceInput, readText } from '../form-fields.tsx'
import { useLocalRows } from '../local-rows.ts'
import { type Column, RecordTable, SearchField } from '../record-table.tsx'
import { type Catalogue, type Provider, useCatalogue } from './catalogue.ts'
import { CheckModels, findModelsOf, getAddress, ProviderPage, ProviderState } from './provider-page.tsx'

export function ProvidersSection({ id }: { id?: string | undefined }) {
  const { data, error } = useCatalogue()
  return id === undefined ? (
    <ProviderList catalogue={data} error={error} />
  ) : (
    <ProviderPage id={id} catalogue={data} error={error} />
  )
}

interface CatalogueProps {
  catalogue: Catalogue | undefined
  error: unknown
}

const adapters = ['openai', 'openai-compatible', 'anthropic', 'google', 'mistral', 'open_web_ui'] as const
const readAdapter = (form: FormData) =>
  adapters.find((each) => each === readText(form, 'adapter')) ?? 'openai-compatible'
const adapterChoices = adapters.map((adapter) => [adapter, adapter] as const)

const buildColumns = (catalogue: Catalogue | undefined): Column<Provider>[] => [
  {
    key: 'name',
    label: t('app.admin.provider'),
    cell: ({ id, name }) => (
      <Link to="/admin/$section/$id" params={{ section: 'providers', id }}>
        {name}
      </Link>
    ),
    text: ({ name }) => name,
    isSortable: true,
  },
  {
    key: 'adapter',
    label: t('app.admin.protocol'),
    cell: ({ adapter }) => adapter,
    text: ({ adapter = '' }) => adapter,
  },
  { key: 'address', label: t('app.admin.address'), cell: getAddress, text: getAddress },
  {
    key: 'models',
    label: t('app.admin.models'),
    cell: ({ id }) => findModelsOf(catalogue, id).length,
    text: ({ id }) => findModelsOf(catalogue, id).length,
    isSortable: true,
    isNumber: true,
  },
  {
    key: 'state',
    label: t('app.admin.state'),
    cell: (provider) => <ProviderState {...provider} />,
    text: ({ active }) => String(active),
  },
]

function ProviderList({ catalogue, error }: CatalogueProps) {
  const columns = buildColumns(catalogue)
  const rows = useLocalRows({
    records: catalogue?.providers,
    error,
    columns,
    texts: ({ name, providerId, apiUrl }) => [name, providerId, apiUrl ?? null],
  })
  return (
    <RecordTable
      label={t('app.admin.providers')}
      columns={columns}
      rowKey={({ id }) => id}
      {...rows}
      none={t('app.admin.noProviders')}
      filters={<SearchField name="q" label={t('app.admin.searchProviders')} />}
      actions={
        <>
          <CheckModels />
          <AddProvider />
        </>
      }
    />
  )
}

const AddProvider = () => (
  <ActionButton
    label={t('app.admin.addProvider')}
    className="button"
    title={t('app.admin.addProvider')}
    text={t('app.admin.addProviderText')}
    action={t('app.admin.add')}
    act={(form) =>
      api.aiProviders.create.mutate({
        providerId: readText(form, 'providerId'),
        name: readText(form, 'name'),
        adapter: readAdapter(form),
        apiUrl: readText(form, 'apiUrl') || null,
        apiKey: readText(form, 'apiKey') || null,
        active: false,
      })
    }
  >
    <div className="field-pair">
      <Field label={t('app.name')} name="name" required maxLength={120} />
      <Field label={t('app.admin.providerId')} name="providerId" required maxLength={120} />
    </div>
    <ChoiceInput label={t('app.admin.protocol')} name="adapter" value="openai-compatible" choices={adapterChoices} />
    <Field label={t('app.admin.address')} name="apiUrl" type="url" hint={t('app.admin.addressHint')} />
    <Field label={t('app.admin.key')} name="apiKey" type="password" autoComplete="off" hint={t('app.admin.keyHint')} />
  </ActionButton>
)
