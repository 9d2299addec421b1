import { api } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { CellText, Table } from '../shared/ui/table.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { runMutation, useCall, useRecords } from './admin-queries.ts'
import { findChoice, useFilters } from './filters.ts'
import { Part, StateBadge } from './parts.tsx'
import { defineForm, defineWholeForm, FormButton } from './record-form.tsx'

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
    <Table
      label={t('app.admin.toolServers')}
      heads={[
        t('app.admin.server'),
        t('app.admin.address'),
        t('app.field.groups'),
        t('app.admin.state'),
        t('app.admin.access'),
        t('app.field.account'),
        t('app.field.pricePerCall'),
      ]}
      rows={servers.map((server) => ({
        key: String(server.id),
        isCurrent: server.label === filters['server'],
        cells: [
          server.label,
          server.address,
          server.groups.join(', ') || t('app.admin.everybody'),
          <ServerState key="state" status={String(server.status)} />,
          <EditServerAccess key="access" server={server} />,
          <ServerAccount key="account" server={server} />,
          <ServerPrice key="price" server={server} />,
        ],
      }))}
    />
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
    <Toolbar>
      <Button aria-disabled={isWorking} onClick={runAction(() => api.mcp.check.mutate())}>
        {t('app.admin.testCall')}
      </Button>
      <Button aria-disabled={isWorking} onClick={runAction(() => api.mcp.sync.mutate())}>
        {t('app.admin.syncTools')}
      </Button>
      <AddServer />
      <span role="status">
        {isWorking && t('page.working')}
        {result && t('app.admin.done')}
      </span>
      <ErrorMessage error={error} />
    </Toolbar>
  )
}

const serverAccess = defineForm('mcpServers.update', ['groups', 'gateway', 'offers'])

/** Edits who may call the tools of a server. */
const EditServerAccess = ({ server }: { server: Server }) => (
  <FormButton
    label={t('app.admin.whoMay')}
    title={t('app.admin.whoMayOf', { name: server.label })}
    text={t('app.admin.whoMayCallText')}
    record={server}
    form={serverAccess}
    save={(change) => api.mcpServers.update.mutate({ id: String(server.id), ...change })}
  />
)

const accountLabels = {
  none: 'app.field.account.none',
  shared: 'app.field.account.shared',
  person: 'app.field.account.person',
} as const

const serverAccount = defineForm('mcpServers.update', [
  'account',
  'oauthClientId',
  'oauthClientSecret',
  'oauthScopes',
  'oauthIssuer',
])

/** Shows with which account the server is called, and edits it. */
const ServerAccount = ({ server }: { server: Server }) => (
  <CellText
    note={server.account === 'person' && t('app.admin.accountsConnected', { count: String(server.connections) })}
  >
    <FormButton
      label={t(accountLabels[server.account as keyof typeof accountLabels])}
      title={t('app.admin.accountOf', { name: server.label })}
      text={t('app.admin.accountText')}
      record={server}
      form={serverAccount}
      save={(change) => api.mcpServers.update.mutate({ id: String(server.id), ...change })}
    />
  </CellText>
)

const serverPrice = defineForm('mcpServers.update', ['pricePerCall'])

/** Shows what a call costs, and edits it. */
const ServerPrice = ({ server }: { server: Server }) => (
  <FormButton
    label={server.pricePerCall ?? t('app.model.free')}
    title={t('app.admin.priceOfCalls', { name: server.label })}
    record={server}
    form={serverPrice}
    save={(change) => api.mcpServers.update.mutate({ id: String(server.id), ...change })}
  />
)

const newServer = defineWholeForm('mcpServers.create', { first: ['serverLabel', 'url', 'apiKey'] })

const AddServer = () => (
  <FormButton
    label={t('app.admin.addServer')}
    title={t('app.admin.addServer')}
    action={t('app.admin.add')}
    form={newServer}
    save={(server) => api.mcpServers.create.mutate(server)}
  />
)
