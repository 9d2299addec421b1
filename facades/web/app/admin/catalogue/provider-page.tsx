import { Link, useNavigate } from '@tanstack/react-router'
import { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { Button } from '../../shared/ui/button.tsx'
import { ErrorMessage } from '../../shared/ui/error-message.tsx'
import { Facts } from '../../shared/ui/facts.tsx'
import { Field } from '../../shared/ui/field.tsx'
import { Table } from '../../shared/ui/table.tsx'
import { Toolbar } from '../../shared/ui/toolbar.tsx'
import { ActionButton, RemoveButton, SwitchButton, type VersionCondition } from '../action-button.tsx'
import { runMutation, useCall } from '../admin-queries.ts'
import { readText } from '../member-values.ts'
import { Loaded, OnOffBadge, Part } from '../parts.tsx'
import { defineForm, defineWholeForm, FormButton, FormFields, listFacts } from '../record-form.tsx'
import { findModelsOf, type ModelWithProvider, type Provider, useCatalogue } from './catalogue.ts'
import { describeOrigin, findLine, OriginProvider, useOrigin, useOrigins } from './config-file.tsx'
import { PickModels } from './pick-models.tsx'

export const getAddress = ({ apiUrl }: Provider) => apiUrl ?? t('app.admin.usualAddress')

/** A provider, with all its settings. */
export function ProviderPage({ id }: { id: string }) {
  const { data: catalogue, error } = useCatalogue()
  const provider = catalogue && (catalogue.providers.find((each) => each.id === id) ?? null)
  return (
    <Loaded data={provider} error={error}>
      {(found) => <ProviderParts provider={found} models={findModelsOf(catalogue, id)} />}
    </Loaded>
  )
}

function ProviderParts({ provider, models }: { provider: Provider; models: readonly ModelWithProvider[] }) {
  const origins = useOrigins()
  const { name, providerId, apiKey, active = false } = provider
  const origin = origins.findProviderOrigin(provider)
  return (
    <OriginProvider value={origin}>
      <Part title={name}>
        <Facts
          facts={[
            [t('app.field.providerId'), <code key="id">{providerId}</code>],
            [t('app.admin.source'), describeOrigin({ origin, file: origins.file })],
            [t('app.field.apiUrl'), getAddress(provider)],
            [t('app.field.apiKey'), t(apiKey ? 'app.admin.keySet' : 'app.admin.keyNone')],
            ...listFacts(attributes, provider, { groups: t('app.admin.everybody') }, ['name', 'providerId', 'apiUrl']),
            [t('app.admin.state'), <OnOffBadge key="state" isOn={active} />],
          ]}
        />
        <Toolbar>
          <EditProvider provider={provider} />
          <SetKey provider={provider} />
          <CheckModels provider={providerId} />
          <PickModels provider={provider} />
          <ToggleProvider provider={provider} />
          {!origin && <RemoveProvider provider={provider} models={models.length} />}
        </Toolbar>
      </Part>
      <Servers provider={provider} />
      <Part title={t('app.admin.models')}>
        <ul>
          {models.map((model) => (
            <li key={model.id}>
              <Link to="/admin/$section/$id" params={{ section: 'models', id: model.id }}>
                {model.label}
              </Link>
            </li>
          ))}
        </ul>
      </Part>
    </OriginProvider>
  )
}

type Server = NonNullable<Provider['servers']>[number]

/** The additional servers of a provider. Those that the file declares are changed there. */
function Servers({ provider }: { provider: Provider }) {
  const { servers = [] } = provider
  return (
    <Part title={t('app.admin.servers')}>
      {servers.length > 0 ? (
        <Table
          label={t('app.admin.servers')}
          heads={[t('app.admin.address'), t('app.field.apiKey'), t('app.admin.source'), t('app.admin.actions')]}
          rows={servers.map((server, at) => ({
            key: `${at} ${server.apiUrl}`,
            cells: [
              server.apiUrl,
              t(server.apiKey ? 'app.admin.keySet' : 'app.admin.keyNone'),
              t(server.fromFile ? 'app.admin.fromFile' : 'app.admin.fromHere'),
              !server.fromFile && <RemoveServer key="remove" provider={provider} server={server} />,
            ],
          }))}
        />
      ) : (
        <p className="hint">{t('app.admin.noFurtherServers')}</p>
      )}
      <Toolbar>
        <AddServer provider={provider} />
      </Toolbar>
    </Part>
  )
}

interface ServersChange {
  id: string
  servers: readonly (Omit<Server, 'fromFile'> & { fromFile?: boolean })[]
  condition: VersionCondition
}

/** Saves the servers of a provider. Remaining servers keep their keys, which the API returns masked. */
const saveServers = ({ id, servers, condition }: ServersChange) =>
  api.aiProviders.update.mutate({ id, ...condition, servers: [...servers] })

const AddServer = ({ provider }: { provider: Provider }) => (
  <ActionButton
    label={t('app.admin.addServer')}
    title={t('app.admin.addServerTo', { name: provider.name })}
    text={t('app.admin.addServerText')}
    action={t('app.admin.add')}
    record={provider}
    act={(form, condition) => {
      const server = { apiUrl: readText(form, 'apiUrl'), apiKey: readText(form, 'apiKey') || null }
      return saveServers({ id: provider.id, servers: [...(provider.servers ?? []), server], condition })
    }}
  >
    <Field label={t('app.field.apiUrl')} name="apiUrl" type="url" required />
    <Field
      label={t('app.field.apiKey')}
      name="apiKey"
      type="password"
      autoComplete="off"
      hint={t('app.field.apiKey.hint')}
    />
  </ActionButton>
)

const RemoveServer = ({ provider, server }: { provider: Provider; server: Server }) => (
  <RemoveButton
    title={t('app.admin.removeServerOf', { address: server.apiUrl })}
    text={t('app.admin.removeServerText')}
    record={provider}
    act={(_form, condition) => {
      const servers = (provider.servers ?? []).filter((each) => each !== server)
      return saveServers({ id: provider.id, servers, condition })
    }}
  />
)

type ProviderChange = Omit<Parameters<typeof api.aiProviders.update.mutate>[0], 'id' | 'ifVersion'>

/** Returns a function that updates a provider. */
const createUpdate =
  ({ id }: Provider) =>
  (change: ProviderChange, condition: VersionCondition) =>
    api.aiProviders.update.mutate({ id, ...condition, ...change })

const key = defineForm('aiProviders.update', ['apiKey'])
/** All attributes that have no control of their own. Another server needs the key again, so that the key is among them. */
const attributes = defineWholeForm('aiProviders.update', {
  first: ['name', 'providerId', 'adapter', 'apiUrl', 'apiKey', 'modelStatusUrl'],
  elsewhere: ['active', 'servers'],
})

const EditProvider = ({ provider }: { provider: Provider }) => (
  <FormButton
    label={t('app.admin.edit')}
    title={t('app.admin.editOf', { name: provider.name })}
    text={t('app.admin.editProviderText')}
    record={provider}
    form={attributes}
    save={createUpdate(provider)}
  />
)

/** Switches a provider on or off. */
const ToggleProvider = ({ provider }: { provider: Provider }) =>
  findLine(useOrigin(), 'active') === undefined && (
    <SwitchButton
      name={provider.name}
      isOn={provider.active ?? false}
      texts={[t('app.admin.switchOnProviderText'), t('app.admin.switchOffProviderText')]}
      record={provider}
      save={createUpdate(provider)}
    />
  )

/** Sets or removes the API key, which is never shown. */
const SetKey = ({ provider }: { provider: Provider }) =>
  findLine(useOrigin(), 'apiKey') === undefined && (
    <ActionButton
      label={t('app.admin.setKey')}
      title={t('app.admin.keyOf', { name: provider.name })}
      text={t('app.admin.setKeyText')}
      action={t('app.save')}
      record={provider}
      act={(form, condition) => createUpdate(provider)({ apiKey: null, ...key.read(form) }, condition)}
    >
      <FormFields form={key} />
    </ActionButton>
  )

function RemoveProvider({ provider, models }: { provider: Provider; models: number }) {
  const navigate = useNavigate()
  return (
    <RemoveButton
      title={t('app.admin.removeOf', { name: provider.name })}
      text={t('app.admin.removeProviderText', { count: models })}
      record={provider}
      act={async (_form, condition) => {
        await api.aiProviders.delete.mutate({ id: provider.id, ...condition })
        await navigate({ to: '/admin/$section', params: { section: 'providers' } })
      }}
    />
  )
}

/** Asks one or all providers for their models, which also verifies address and key. */
export function CheckModels({ provider }: { provider?: string }) {
  const { isWorking, result, error, run } = useCall<readonly Check[]>()
  const check = () =>
    run(() => runMutation(() => api.models.check.mutate({ ...(provider !== undefined && { provider }) })))
  return (
    <>
      <span role="status">{result && describeChecks(result)}</span>
      <ErrorMessage error={error} />
      <Button aria-disabled={isWorking} onClick={check}>
        {t(isWorking ? 'page.working' : 'app.admin.testCall')}
      </Button>
    </>
  )
}

type Check = Awaited<ReturnType<typeof api.models.check.mutate>>[number]

function describeChecks(checks: readonly Check[]): string {
  if (checks.length === 0) return t('app.admin.nothingToAsk')
  const failed = checks.filter(({ status }) => status !== 'online')
  if (failed.length === 0) return t('app.admin.allOnline', { count: checks.length })
  return t('app.admin.notOnline', { names: failed.map(({ modelId }) => modelId).join(', ') })
}
