import { useQuery } from '@tanstack/react-query'
import { api, queryClient } from '../shared/api/client.ts'
import { formatDate, formatDateTime } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ItemList } from './item-list.tsx'
import { describeAbilities, describeLastUse } from './token-settings.tsx'

/** Apps that the person has linked, and tools that models may call without asking. */
export const LinkedAppSettings = () => (
  <>
    <AppList />
    <ApprovalList />
  </>
)

const appsKey = ['linked-apps']

function AppList() {
  const { data, error } = useQuery({
    queryKey: appsKey,
    queryFn: ({ signal }) => api.consentPage.links.query(undefined, { signal }),
  })
  return (
    <ItemList
      title={t('app.settings.appsTitle')}
      intro={t('app.settings.appsIntro')}
      items={data?.map((link) => ({
        key: link.id,
        name: link.appName,
        details: [
          `${describeAbilities(link.abilities)} · ${t(link.withKeys ? 'app.settings.appKeys' : 'app.settings.appNoKeys')}`,
          describeLinkTimes(link),
        ],
        confirmation: {
          title: t('app.settings.appEndSure', { name: link.appName }),
          text: t('app.settings.appEndText'),
          action: t('app.settings.appEnd'),
        },
        remove: async () => {
          await api.extApps.endLinks.mutate({ id: String(link.appId) })
          await queryClient.invalidateQueries({ queryKey: appsKey })
          return t('app.settings.appEnded', { name: link.appName })
        },
      }))}
      error={error}
      none={t('app.settings.appsNone')}
      removeText={t('app.settings.appEnd')}
    />
  )
}

interface LinkTimes {
  createdAt: string
  lastUsedAt: string | null
  expiresAt: string | null
}

const describeLinkTimes = ({ createdAt, lastUsedAt, expiresAt }: LinkTimes) =>
  [
    t('app.settings.appSince', { day: formatDate(createdAt) }),
    describeLastUse(lastUsedAt),
    ...(expiresAt ? [t('app.settings.tokenEnds', { day: formatDate(expiresAt) })] : []),
  ].join(' · ')

const approvalsKey = ['approvals']

function ApprovalList() {
  const { data, error } = useQuery({
    queryKey: approvalsKey,
    queryFn: ({ signal }) => api.ai.approvals.query(undefined, { signal }),
  })
  return (
    <ItemList
      title={t('app.settings.approvalsTitle')}
      intro={t('app.settings.approvalsIntro')}
      items={data?.map(({ id, tool, server, conversation, token, until }) => {
        const by = token === null ? t('app.settings.approvalSession') : t('app.settings.approvalToken', { name: token })
        return {
          key: id,
          name: tool,
          details: [
            t('app.settings.approvalOf', { server, conversation }),
            `${by} · ${t('app.settings.tokenEnds', { day: formatDateTime(until) })}`,
          ],
          remove: async () => {
            await api.ai.revokeApproval.mutate({ id })
            await queryClient.invalidateQueries({ queryKey: approvalsKey })
            return t('app.settings.approvalEnded', { name: tool })
          },
        }
      })}
      error={error}
      none={t('app.settings.approvalsNone')}
      removeText={t('app.settings.approvalEnd')}
    />
  )
}
