import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { Field } from '../../shared/ui/field.tsx'
import { FormError } from '../../shared/ui/form-dialog.tsx'
import { ActionButton, readText, readWords } from '../action-dialog.tsx'
import { write } from '../admin-queries.ts'
import { CheckInput, ChoiceInput, TextInput } from '../choice-input.tsx'
import { jsonText, readJson } from '../json-input.ts'
import { useLocalRows } from '../local-rows.ts'
import { type Catalogue, type Provider, useCatalogue, versionOf } from '../models/catalogue.ts'
import { Facts, Part } from '../part.tsx'
import { type Column, RecordTable, SearchField } from '../record-table.tsx'
import { State } from '../state.tsx'

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

const columnsWith = (catalogue: Catalogue | undefined): Column<Provider>[] => [
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
  { key: 'address', label: t('app.admin.address'), cell: addressText, text: addressText },
  {
    key: 'models',
    label: t('app.admin.models'),
    cell: ({ id }) => modelsOf(catalogue, id).length,
    text: ({ id }) => modelsOf(catalogue, id).length,
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

const addressText = ({ apiUrl }: Provider) => apiUrl ?? t('app.admin.usualAddress')
const modelsOf = (catalogue: Catalogue | undefined, id: string) =>
  catalogue?.models.filter(({ provider }) => provider?.id === id) ?? []

const ProviderState = ({ active }: Pick<Provider, 'active'>) => (
  <State kind={active ? 'ok' : 'idle'}>{t(active ? 'app.admin.on' : 'app.admin.modelOff')}</State>
)

function ProviderList({ catalogue, error }: CatalogueProps) {
  const columns = columnsWith(catalogue)
  const rows = useLocalRows({
    ...{ all: catalogue?.providers, error, columns },
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
    action={t('app.admin.add')}
    act={(form) =>
      api.aiProviders.create.mutate({
        providerId: readText(form, 'providerId'),
        name: readText(form, 'name'),
        adapter: readAdapter(form),
        apiUrl: readText(form, 'apiUrl') || null,
        apiKey: readText(form, 'apiKey') || null,
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

/** Asks all providers which models they offer now, which also tells whether address and key are right. */
function CheckModels() {
  const [state, setState] = useState<'ready' | 'working' | { checks: readonly Check[] } | { error: unknown }>('ready')
  const check = async () => {
    setState('working')
    setState(
      await write(() => api.models.check.mutate()).then(
        (checks) => ({ checks }),
        (error: unknown) => ({ error }),
      ),
    )
  }
  return (
    <>
      <span role="status">{typeof state === 'object' && 'checks' in state && checkText(state.checks)}</span>
      {typeof state === 'object' && 'error' in state && <FormError error={state.error} />}
      <button type="button" className="quiet-button" aria-disabled={state === 'working'} onClick={check}>
        {t(state === 'working' ? 'page.working' : 'app.admin.testCall')}
      </button>
    </>
  )
}

type Check = Awaited<ReturnType<typeof api.models.check.mutate>>[number]

function checkText(checks: readonly Check[]): string {
  const failed = checks.filter(({ status }) => status !== 'online')
  if (failed.length === 0) return t('app.admin.allOnline', { count: checks.length })
  return t('app.admin.notOnline', { names: failed.map(({ modelId }) => modelId).join(', ') })
}

function ProviderPage({ id, catalogue, error }: CatalogueProps & { id: string }) {
  const provider = catalogue?.providers.find((each) => each.id === id)
  if (error) return <FormError error={error} />
  if (!catalogue) return <div className="admin-waiting" aria-busy="true" />
  if (!provider) return <p>{t('app.error.not_found')}</p>
  const { name, providerId, adapter, apiKey, servers = [], groups = [] } = provider
  return (
    <>
      <Part title={name}>
        <Facts
          facts={[
            [t('app.admin.providerId'), <code key="id">{providerId}</code>],
            [t('app.admin.protocol'), adapter],
            [t('app.admin.address'), addressText(provider)],
            [t('app.admin.key'), t(apiKey ? 'app.admin.keySet' : 'app.admin.keyNone')],
            [t('app.admin.groups'), groups.join(', ') || t('app.admin.everybody')],
            [t('app.admin.state'), <ProviderState key="state" active={provider.active ?? false} />],
          ]}
        />
        <div className="admin-buttons">
          <EditProvider provider={provider} />
          <SetKey provider={provider} />
          <CheckModels />
          <RemoveProvider provider={provider} models={modelsOf(catalogue, id).length} />
        </div>
      </Part>
      {servers.length > 0 && <Servers servers={servers} />}
      <Part title={t('app.admin.models')}>
        <ul>
          {modelsOf(catalogue, id).map((model) => (
            <li key={model.id}>
              <Link to="/admin/$section/$id" params={{ section: 'models', id: model.id }}>
                {model.label}
              </Link>
            </li>
          ))}
        </ul>
      </Part>
    </>
  )
}

const Servers = ({ servers }: { servers: NonNullable<Provider['servers']> }) => (
  <Part title={t('app.admin.servers')}>
    <table className="plain-table">
      <thead>
        <tr>
          <th scope="col">{t('app.admin.address')}</th>
          <th scope="col">{t('app.admin.key')}</th>
          <th scope="col">{t('app.admin.source')}</th>
        </tr>
      </thead>
      <tbody>
        {servers.map(({ apiUrl, apiKey, fromFile }) => (
          <tr key={`${apiUrl} ${fromFile}`}>
            <td>{apiUrl}</td>
            <td>{t(apiKey ? 'app.admin.keySet' : 'app.admin.keyNone')}</td>
            <td>{t(fromFile ? 'app.admin.fromFile' : 'app.admin.fromHere')}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Part>
)

const EditProvider = ({ provider }: { provider: Provider }) => (
  <ActionButton
    label={t('app.admin.edit')}
    title={t('app.admin.editOf', { name: provider.name })}
    text={t('app.admin.editProviderText')}
    action={t('app.save')}
    act={(form) =>
      api.aiProviders.update.mutate({
        id: provider.id,
        ...versionOf(provider),
        name: readText(form, 'name'),
        apiUrl: readText(form, 'apiUrl') || null,
        active: form.has('active'),
        groups: readWords(form, 'groups'),
        settings: (readJson(form, 'settings') ?? {}) as never,
      })
    }
  >
    <Field label={t('app.name')} name="name" defaultValue={provider.name} required maxLength={120} />
    <Field
      label={t('app.admin.address')}
      name="apiUrl"
      type="url"
      defaultValue={provider.apiUrl ?? ''}
      hint={t('app.admin.addressHint')}
    />
    <Field
      label={t('app.admin.groups')}
      name="groups"
      defaultValue={(provider.groups ?? []).join(', ')}
      hint={t('app.admin.groupsHint')}
    />
    <TextInput
      label={t('app.admin.settingsJson')}
      name="settings"
      value={jsonText(provider.settings)}
      hint={t('app.admin.providerSettingsHint')}
    />
    <CheckInput label={t('app.admin.on')} name="active" isChecked={provider.active ?? false} />
  </ActionButton>
)

/** A key is written and never shown. */
const SetKey = ({ provider }: { provider: Provider }) => (
  <ActionButton
    label={t('app.admin.setKey')}
    title={t('app.admin.keyOf', { name: provider.name })}
    text={t('app.admin.setKeyText')}
    action={t('app.save')}
    act={(form) =>
      api.aiProviders.update.mutate({
        id: provider.id,
        ...versionOf(provider),
        apiKey: readText(form, 'apiKey') || null,
      })
    }
  >
    <Field
      label={t('app.admin.key')}
      name="apiKey"
      type="password"
      autoComplete="off"
      hint={t('app.admin.keyEmptyHint')}
    />
  </ActionButton>
)

function RemoveProvider({ provider, models }: { provider: Provider; models: number }) {
  const navigate = useNavigate()
  return (
    <ActionButton
      label={t('app.admin.remove')}
      title={t('app.admin.removeOf', { name: provider.name })}
      text={t('app.admin.removeProviderText', { count: models })}
      action={t('app.admin.remove')}
      isDangerous
      act={async () => {
        await api.aiProviders.delete.mutate({ id: provider.id, ...versionOf(provider) })
        await navigate({ to: '/admin/$section', params: { section: 'providers' } })
      }}
    />
  )
}
