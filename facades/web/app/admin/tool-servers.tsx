import { api } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Field } from '../shared/ui/field.tsx'
import { ActionButton } from './action-button.tsx'
import { runMutation, useCall, useRecords } from './admin-queries.ts'
import { findChoice, useFilters } from './filters.ts'
import { readText } from './form-fields.tsx'
import { Part, StateBadge } from './parts.tsx'

type Server = Awaited<ReturnType<typeof api.mcp.servers.query>>[number]

export const useServers = () => useRecords(['servers'], (signal) => api.mcp.servers.query(undefined, { signal }))

/** The MCP servers and their state, with the calls that check and add them. */
export function ToolServersPart() {
  const { data, error } = useServers()
  return (
    <Part title={t('app.admin.toolServers')}>
      <ErrorMessage error={error} />
      {data && <ServerTable servers={data} />}
      <ServerActions />
    </Part>
  )
}

function ServerTable({ servers }: { servers: readonly Server[] }) {
  const { filters } = useFilters()
  if (servers.length === 0) return <p className="hint">{t('app.admin.noServers')}</p>
  return (
    <table className="plain-table">
      <thead>
        <tr>
          <th scope="col">{t('app.admin.server')}</th>
          <th scope="col">{t('app.admin.address')}</th>
          <th scope="col">{t('app.admin.state')}</th>
        </tr>
      </thead>
      <tbody>
        {servers.map(({ label, address, status }) => (
          <tr key={label} aria-current={label === filters['server'] || undefined}>
            <td>{label}</td>
            <td>{address}</td>
            <td>
              <ServerState status={String(status)} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const serverKinds = { online: 'ok', unknown: 'idle', offline: 'wrong' } as const
const serverLabels = {
  online: 'app.admin.modelOnline',
  unknown: 'app.admin.modelUnknown',
  offline: 'app.admin.modelOffline',
} as const

function ServerState({ status }: { status: string }) {
  const state = findChoice(['online', 'unknown', 'offline'] as const, status) ?? 'unknown'
  return <StateBadge kind={serverKinds[state]}>{t(serverLabels[state])}</StateBadge>
}

/** Checks all servers or reads their tools, and adds servers. */
function ServerActions() {
  const { isWorking, result, error, run } = useCall<'done'>()
  const runAction = (call: () => Promise<unknown>) => () =>
    run(async () => {
      await runMutation(call)
      return 'done'
    })
  return (
    <div className="button-row">
      <button
        type="button"
        className="quiet-button"
        aria-disabled={isWorking}
        onClick={runAction(() => api.mcp.check.mutate())}
      >
        {t('app.admin.testCall')}
      </button>
      <button
        type="button"
        className="quiet-button"
        aria-disabled={isWorking}
        onClick={runAction(() => api.mcp.sync.mutate())}
      >
        {t('app.admin.syncTools')}
      </button>
      <AddServer />
      <span role="status">
        {isWorking && t('page.working')}
        {result && t('app.admin.done')}
      </span>
      <ErrorMessage error={error} />
    </div>
  )
}

const AddServer = () => (
  <ActionButton
    label={t('app.admin.addServer')}
    title={t('app.admin.addServer')}
    action={t('app.admin.add')}
    act={(form) =>
      api.mcpServers.create.mutate({
        serverLabel: readText(form, 'label'),
        url: readText(form, 'url'),
        apiKey: readText(form, 'key') || null,
      })
    }
  >
    <Field label={t('app.name')} name="label" required maxLength={120} />
    <Field label={t('app.admin.address')} name="url" type="url" required />
    <Field label={t('app.admin.key')} name="key" type="password" autoComplete="off" hint={t('app.admin.keyHint')} />
  </ActionButton>
)
