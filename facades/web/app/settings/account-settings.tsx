import { useQuery } from '@tanstack/react-query'
import { useSearch } from '@tanstack/react-router'
import { api, queryClient } from '../shared/api/client.ts'
import { formatDate } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Notice } from '../shared/ui/notice.tsx'
import { ItemList } from './item-list.tsx'

type Account = Awaited<ReturnType<typeof api.toolAccounts.list.query>>[number]

const accountsKey = ['tool-accounts']

/** The tool servers at which people have accounts of their own, and the person's account at each. */
export function AccountSettings() {
  const { server, connected, failed } = useSearch({ strict: false }) as Record<string, unknown>
  const { data, error } = useQuery({
    queryKey: accountsKey,
    queryFn: ({ signal }) => api.toolAccounts.list.query(undefined, { signal }),
  })
  const wanted = data?.find((account) => account.server === Number(server) && account.state !== 'active')
  // The server that a tool asked for comes first.
  const accounts = wanted ? [wanted, ...(data ?? []).filter((account) => account !== wanted)] : data
  const connectedLabel = data?.find(({ server, state }) => server === Number(connected) && state === 'active')?.label
  return (
    <>
      {failed !== undefined && (
        <Notice kind="error" role="alert">
          {t(failures.get(String(failed)) ?? 'app.settings.accountFailed')}
        </Notice>
      )}
      {connectedLabel !== undefined && (
        <Notice role="status">{t('app.settings.accountConnected', { name: connectedLabel })}</Notice>
      )}
      {wanted && <Notice role="status">{t('app.settings.accountWanted', { name: wanted.label })}</Notice>}
      <ItemList
        title={t('app.settings.accountsTitle')}
        intro={t('app.settings.accountsIntro')}
        items={accounts?.map(toItem)}
        error={error}
        none={t('app.settings.accountsNone')}
        removeText={t('app.settings.accountEnd')}
      />
    </>
  )
}

/** Sentences for the codes of errors with which the service leads back here. */
const failures: ReadonlyMap<string, string> = new Map([
  ['not_permitted', 'app.settings.accountDeclined'],
  ['connect_request_invalid', 'app.settings.accountStale'],
])

const toItem = ({ server, label, description, ...account }: Account) => ({
  key: server,
  name: label,
  details: [...(description ? [description] : []), describeAccount(account)],
  action: account.state === 'active' ? undefined : { text: getConnectText(account), run: () => connect(server) },
  ...(account.state && {
    confirmation: {
      title: t('app.settings.accountEndSure', { name: label }),
      text: t('app.settings.accountEndText'),
      action: t('app.settings.accountEnd'),
    },
    remove: () => disconnect(server, label),
  }),
})

const getConnectText = ({ state }: Pick<Account, 'state'>) =>
  t(state === 'expired' ? 'app.settings.accountAgain' : 'app.settings.accountConnect')

function describeAccount({ state, account, connectedAt }: Pick<Account, 'state' | 'account' | 'connectedAt'>): string {
  if (!state) return t('app.settings.accountMissing')
  if (state === 'expired') return t('app.settings.accountExpired')
  const since = t('app.settings.accountSince', { day: formatDate(connectedAt ?? '') })
  return account ? `${t('app.settings.accountNamed', { name: account })} · ${since}` : since
}

/** Leads to the sign-in of the server, which leads back here. */
async function connect(server: number): Promise<undefined> {
  const { redirectUri } = await api.toolAccounts.connect.mutate({ server })
  location.assign(redirectUri)
}

async function disconnect(server: number, name: string): Promise<string> {
  const { isRevoked } = await api.toolAccounts.disconnect.mutate({ server })
  await queryClient.invalidateQueries({ queryKey: accountsKey })
  return t(isRevoked ? 'app.settings.accountEnded' : 'app.settings.accountEndedHere', { name })
}
