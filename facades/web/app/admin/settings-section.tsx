import { api } from '../shared/api/client.ts'
import { formatDateTime, formatNumber } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { useFigures, useRecords } from './admin-queries.ts'
import { useLocalRows } from './local-rows.ts'
import { Part, PlainTable } from './parts.tsx'
import { ChoiceField, type Column, RecordTable, SearchField } from './record-table.tsx'
import { StoragePart } from './storage-part.tsx'

type Setting = Awaited<ReturnType<typeof api.settings.list.query>>[number]

const buildColumns = (): Column<Setting>[] => [
  {
    key: 'name',
    label: t('app.admin.setting'),
    cell: ({ name, meaning }) => (
      <span>
        <code>{name}</code>
        <span className="sub" lang="en">
          {meaning.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))}
        </span>
      </span>
    ),
    text: ({ name }) => name,
    isSortable: true,
  },
  { key: 'value', label: t('app.admin.value'), cell: ({ value }) => <code>{value}</code>, text: ({ value }) => value },
  {
    key: 'default',
    label: t('app.admin.default'),
    cell: (setting) => <code>{setting.default}</code>,
    text: (setting) => setting.default,
  },
  {
    key: 'source',
    label: t('app.admin.source'),
    cell: ({ isSet }) => t(isSet ? 'app.admin.isSet' : 'app.admin.isDefault'),
    text: ({ isSet }) => String(isSet),
    isSortable: true,
  },
]

const LAST_CALLERS = 50

/** The settings, which are read-only here, the callers of deprecated routes, and the storage. */
export function ServiceSettingsSection() {
  const { data, error } = useRecords(['settings'], (signal) => api.settings.list.query(undefined, { signal }))
  const rows = useLocalRows({
    records: data,
    error,
    columns: buildColumns(),
    texts: ({ name, meaning }) => [name, meaning],
    matchesFilters: ({ isSet }, { source }) => !source || isSet === (source === 'set'),
  })
  return (
    <>
      <RecordTable
        label={t('app.admin.settings')}
        columns={buildColumns()}
        rowKey={({ name }) => name}
        {...rows}
        none={t('app.admin.noSettings')}
        filters={
          <>
            <SearchField name="q" label={t('app.admin.searchSettings')} />
            <ChoiceField
              name="source"
              label={t('app.admin.source')}
              choices={[
                ['set', t('app.admin.isSet')],
                ['default', t('app.admin.isDefault')],
              ]}
            />
          </>
        }
      />
      <Deprecations />
      <StoragePart />
    </>
  )
}

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
        <PlainTable
          label={t('app.admin.deprecations')}
          heads={[t('app.admin.address'), t('app.admin.actor'), `#${t('app.admin.requests')}`, t('app.admin.lastUsed')]}
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
