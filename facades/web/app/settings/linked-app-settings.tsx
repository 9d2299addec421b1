import { useQuery } from '@tanstack/react-query'
import { api, queryClient } from '../shared/api/client.ts'
import { dayText, minuteText } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ItemList } from './item-list.tsx'
import { abilitiesText, usedText } from './token-settings.tsx'

/** What works in the name of the person: apps that they linked, and tools that models may call without asking. */
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
          `${abilitiesText(link.abilities)} · ${t(link.withKeys ? 'app.settings.appKeys' : 'app.settings.appNoKeys')}`,
          linkTimesText(link),
        ],
        question: {
          title: t('app.settings.appEndSure', { name: link.appName }),
          text: t('app.settings.appEndText'),
          yes: t('app.settings.appEnd'),
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

const linkTimesText = ({ createdAt, lastUsedAt, expiresAt }: LinkTimes) =>
  [
    t('app.settings.appSince', { day: dayText(createdAt) }),
    usedText(lastUsedAt),
    ...(expiresAt ? [t('app.settings.tokenEnds', { day: dayText(expiresAt) })] : []),
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
            `${by} · ${t('app.settings.tokenEnds', { day: minuteText(until) })}`,
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
