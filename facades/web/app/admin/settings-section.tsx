import { api } from '../shared/api/client.ts'
import { formatDateTime, formatNumber } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { CellText, numberHead, Table } from '../shared/ui/table.tsx'
import { useFigures, useRecords } from './admin-queries.ts'
import { columnsOf } from './columns.tsx'
import { Part } from './parts.tsx'
import { ChoiceField } from './record-table.tsx'
import { defineSection } from './section.tsx'
import { StoragePart } from './storage-part.tsx'

type Setting = Awaited<ReturnType<typeof api.settings.list.query>>[number]

const column = columnsOf<Setting>('settings.list')
const sourceLabels = { set: 'app.admin.isSet', default: 'app.admin.isDefault' } as const

/** Renders the description of a setting; words between backquotes are code. */
const Meaning = ({ text }: { text: string }) => (
  <span lang="en">
    {text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))}
  </span>
)

const LAST_CALLERS = 50

/** The settings, which are read-only here, the callers of deprecated routes, and the storage. */
export const ServiceSettingsSection = defineSection({
  labels: { title: 'app.admin.settings', search: 'app.admin.searchSettings', none: 'app.admin.noSettings' },
  useData: () => useRecords(['settings'], (signal) => api.settings.list.query(undefined, { signal })),
  getRows: (settings: readonly Setting[]) => settings,
  rowKey: ({ name }) => name,
  texts: ({ name, meaning }) => [name, meaning],
  columns: [
    column('name', {
      label: t('app.admin.setting'),
      cell: ({ name, meaning }) => (
        <CellText note={<Meaning text={meaning} />}>
          <code>{name}</code>
        </CellText>
      ),
      isSortable: true,
    }),
    column('value', { label: t('app.admin.value'), cell: ({ value }) => <code>{value}</code> }),
    column('default', { label: t('app.admin.default'), cell: (setting) => <code>{setting.default}</code> }),
    column('isSet', {
      label: t('app.admin.source'),
      cell: ({ isSet }) => t(sourceLabels[isSet ? 'set' : 'default']),
      isSortable: true,
    }),
  ],
  matchesFilters: ({ isSet }, { source }) => !source || isSet === (source === 'set'),
  filters: () => (
    <ChoiceField
      name="source"
      label={t('app.admin.source')}
      choices={Object.entries(sourceLabels).map(([source, label]) => [source, t(label)])}
    />
  ),
  below: () => (
    <>
      <Deprecations />
      <StoragePart />
    </>
  ),
})

/** Lists the callers of deprecated routes. */
function Deprecations() {
  const { data, error } = useFigures(['deprecations'], (signal) =>
    api.deprecations.callers.query({ limit: LAST_CALLERS }, { signal }),
  )
  return (
    <Part title={t('app.admin.deprecations')}>
      <ErrorMessage error={error} />
      {data?.length === 0 && <p className="hint">{t('app.admin.noDeprecations')}</p>}
      {data && data.length > 0 && (
        <Table
          label={t('app.admin.deprecations')}
          heads={[
            t('app.admin.address'),
            t('app.admin.actor'),
            numberHead(t('app.admin.requests')),
            t('app.admin.lastUsed'),
          ]}
          rows={data.map(({ route, username, token, calls, lastCalledAt }) => ({
            key: `${route} ${username} ${token}`,
            cells: [
              <code key="route">{route}</code>,
              [username, token].filter(Boolean).join(', '),
              formatNumber(calls),
              formatDateTime(lastCalledAt),
            ],
          }))}
        />
      )}
    </Part>
  )
}
