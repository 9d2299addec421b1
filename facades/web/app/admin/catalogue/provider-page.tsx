import { Link, useNavigate } from '@tanstack/react-router'
import { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { ErrorMessage } from '../../shared/ui/error-message.tsx'
import { Field } from '../../shared/ui/field.tsx'
import { ActionButton, type VersionCondition } from '../action-button.tsx'
import { runMutation, useCall } from '../admin-queries.ts'
import { formatJson, readJson, readText, readWords, TextInput } from '../form-fields.tsx'
import { Facts, Part, PlainTable, StaleNotice, StateBadge } from '../parts.tsx'
import type { Catalogue, Provider } from './catalogue.ts'
import {
  describeOrigin,
  FileOwned,
  findLine,
  OriginProvider,
  OwnedField,
  omitFileOwned,
  useOrigin,
  useOrigins,
} from './config-file.tsx'
import { PickModels } from './pick-models.tsx'

interface ProviderPageProps {
  id: string
  catalogue: Catalogue | undefined
  error: unknown
}

export const getAddress = ({ apiUrl }: Provider) => apiUrl ?? t('app.admin.usualAddress')
export const findModelsOf = (catalogue: Catalogue | undefined, id: string) =>
  catalogue?.models.filter(({ provider }) => provider?.id === id) ?? []

export const ProviderState = ({ active }: Pick<Provider, 'active'>) => (
  <StateBadge kind={active ? 'ok' : 'idle'}>{t(active ? 'app.admin.on' : 'app.admin.modelOff')}</StateBadge>
)

/** A provider, with all its settings. */
export function ProviderPage({ id, catalogue, error }: ProviderPageProps) {
  const origins = useOrigins()
  const provider = catalogue?.providers.find((each) => each.id === id)
  if (error && !catalogue) return <ErrorMessage error={error} />
  if (!catalogue) return <div className="admin-waiting" aria-busy="true" />
  if (!provider) return <p>{t('app.error.not_found')}</p>
  const { name, providerId, adapter, apiKey, groups = [] } = provider
  const origin = origins.findProviderOrigin(provider)
  return (
    <OriginProvider value={origin}>
      <StaleNotice error={error} />
      <Part title={name}>
        <Facts
          facts={[
            [t('app.admin.providerId'), <code key="id">{providerId}</code>],
            [t('app.admin.source'), describeOrigin({ origin, file: origins.file })],
            [t('app.admin.protocol'), adapter],
            [t('app.admin.address'), getAddress(provider)],
            [t('app.admin.key'), t(apiKey ? 'app.admin.keySet' : 'app.admin.keyNone')],
            [t('app.admin.groups'), groups.join(', ') || t('app.admin.everybody')],
            [t('app.admin.state'), <ProviderState key="state" active={provider.active ?? false} />],
          ]}
        />
        <div className="button-row">
          <EditProvider provider={provider} />
          <SetKey provider={provider} />
          <CheckModels provider={providerId} />
          <PickModels provider={provider} />
          <ToggleProvider provider={provider} />
          {!origin && <RemoveProvider provider={provider} models={findModelsOf(catalogue, id).length} />}
        </div>
      </Part>
      <Servers provider={provider} />
      <Part title={t('app.admin.models')}>
        <ul>
          {findModelsOf(catalogue, id).map((model) => (
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
        <PlainTable
          label={t('app.admin.servers')}
          heads={[t('app.admin.address'), t('app.admin.key'), t('app.admin.source'), t('app.admin.actions')]}
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
      <div className="button-row">
        <AddServer provider={provider} />
      </div>
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
    <Field label={t('app.admin.address')} name="apiUrl" type="url" required />
    <Field label={t('app.admin.key')} name="apiKey" type="password" autoComplete="off" hint={t('app.admin.keyHint')} />
  </ActionButton>
)

const RemoveServer = ({ provider, server }: { provider: Provider; server: Server }) => (
  <ActionButton
    label={t('app.admin.remove')}
    title={t('app.admin.removeServerOf', { address: server.apiUrl })}
    text={t('app.admin.removeServerText')}
    action={t('app.admin.remove')}
    isDangerous
    record={provider}
    act={(_form, condition) => {
      const servers = (provider.servers ?? []).filter((each) => each !== server)
      return saveServers({ id: provider.id, servers, condition })
    }}
  />
)

type ProviderChange = Omit<Parameters<typeof api.aiProviders.update.mutate>[0], 'id' | 'ifVersion'>

/** Returns a function that updates the attributes of a provider that the file does not set. */
function useUpdate(provider: Provider) {
  const origin = useOrigin()
  return (change: ProviderChange, condition: VersionCondition) =>
    api.aiProviders.update.mutate({ id: provider.id, ...condition, ...omitFileOwned(origin, change) })
}

function EditProvider({ provider }: { provider: Provider }) {
  const update = useUpdate(provider)
  return (
    <ActionButton
      label={t('app.admin.edit')}
      title={t('app.admin.editOf', { name: provider.name })}
      text={t('app.admin.editProviderText')}
      action={t('app.save')}
      record={provider}
      act={(form, condition) =>
        update(
          {
            name: readText(form, 'name'),
            apiUrl: readText(form, 'apiUrl') || null,
            groups: readWords(form, 'groups'),
            settings: (readJson(form, 'settings') ?? {}) as never,
          },
          condition,
        )
      }
    >
      <OwnedField label={t('app.name')} name="name" defaultValue={provider.name} required maxLength={120} />
      <OwnedField
        label={t('app.admin.address')}
        name="apiUrl"
        type="url"
        defaultValue={provider.apiUrl ?? ''}
        hint={t('app.admin.addressHint')}
      />
      <OwnedField
        label={t('app.admin.groups')}
        name="groups"
        defaultValue={(provider.groups ?? []).join(', ')}
        hint={t('app.admin.groupsHint')}
      />
      <FileOwned attribute="settings">
        <TextInput
          label={t('app.admin.settingsJson')}
          name="settings"
          value={formatJson(provider.settings)}
          hint={t('app.admin.providerSettingsHint')}
        />
      </FileOwned>
    </ActionButton>
  )
}

/** Switches a provider on or off after a confirmation. */
function ToggleProvider({ provider }: { provider: Provider }) {
  const update = useUpdate(provider)
  if (findLine(useOrigin(), 'active') !== undefined) return null
  const { name, active = false } = provider
  return (
    <ActionButton
      label={t(active ? 'app.admin.switchOff' : 'app.admin.switchOn')}
      title={t(active ? 'app.admin.switchOffOf' : 'app.admin.switchOnOf', { name })}
      text={t(active ? 'app.admin.switchOffProviderText' : 'app.admin.switchOnProviderText')}
      action={t(active ? 'app.admin.switchOff' : 'app.admin.switchOn')}
      isDangerous={active}
      record={provider}
      act={(_form, condition) => update({ active: !active }, condition)}
    />
  )
}

/** Sets the API key, which is never shown. */
function SetKey({ provider }: { provider: Provider }) {
  const update = useUpdate(provider)
  if (findLine(useOrigin(), 'apiKey') !== undefined) return null
  return (
    <ActionButton
      label={t('app.admin.setKey')}
      title={t('app.admin.keyOf', { name: provider.name })}
      text={t('app.admin.setKeyText')}
      action={t('app.save')}
      record={provider}
      act={(form, condition) => update({ apiKey: readText(form, 'apiKey') || null }, condition)}
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
}

function RemoveProvider({ provider, models }: { provider: Provider; models: number }) {
  const navigate = useNavigate()
  return (
    <ActionButton
      label={t('app.admin.remove')}
      title={t('app.admin.removeOf', { name: provider.name })}
      text={t('app.admin.removeProviderText', { count: models })}
      action={t('app.admin.remove')}
      isDangerous
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
      <button type="button" className="quiet-button" aria-disabled={isWorking} onClick={check}>
        {t(isWorking ? 'page.working' : 'app.admin.testCall')}
      </button>
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
