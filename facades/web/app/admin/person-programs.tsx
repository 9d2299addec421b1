import { api } from '../shared/api/client.ts'
import { formatDate, formatDateTime } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { CellText, Table } from '../shared/ui/table.tsx'
import { ActionButton } from './action-button.tsx'
import { useRecords } from './admin-queries.ts'

const originLabels = {
  registered: 'app.field.oauth.kind.registered',
  document: 'app.field.oauth.kind.document',
  dynamic: 'app.admin.programUnverified',
} as const

/** Lists the programs that a person has signed in. */
export function PersonPrograms({ id }: { id: number }) {
  const { data, error } = useRecords(['programs-of', id], (signal) =>
    api.oauth.grantsOf.query({ user: { id: String(id) } }, { signal }),
  )
  if (!data) return <ErrorMessage error={error} />
  if (data.length === 0) return <p className="hint">{t('app.admin.noProgramsOf')}</p>
  return (
    <Table
      label={t('app.admin.programs')}
      heads={[
        t('app.admin.program'),
        t('app.admin.programServers'),
        t('app.admin.lastUsed'),
        t('app.admin.ends'),
        t('app.admin.actions'),
      ]}
      rows={data.map(({ id: grantId, name, host, kind, device, servers, lastUsedAt, endsAt }) => ({
        key: `${grantId}`,
        cells: [
          <CellText key="name" note={[host ?? t(originLabels[kind]), device].filter(Boolean).join(' · ')}>
            {name}
          </CellText>,
          servers?.map(({ label }) => label).join(', ') ?? t('app.admin.allServers'),
          lastUsedAt ? formatDateTime(lastUsedAt) : t('app.admin.never'),
          formatDate(endsAt),
          <ActionButton
            key="end"
            label={t('app.settings.programEnd')}
            title={t('app.admin.endProgramOf', { name })}
            text={t('app.admin.endProgramText')}
            action={t('app.settings.programEnd')}
            isDangerous
            act={() => api.oauth.endGrantFor.mutate({ user: { id: String(id) }, id: grantId })}
          />,
        ],
      }))}
    />
  )
}
