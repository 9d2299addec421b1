import { api } from '../shared/api/client.ts'
import { numberText } from '../shared/text/amounts.ts'
import { t } from '../shared/text/labels.ts'
import { minuteText } from '../shared/text/moments.ts'
import { FormError } from '../shared/ui/form-dialog.tsx'
import { useFigures, useRead } from './admin-queries.ts'
import { useLocalRows } from './local-rows.ts'
import { Facts, Part } from './part.tsx'
import { ChoiceField, type Column, RecordTable, SearchField } from './record-table.tsx'

type Setting = Awaited<ReturnType<typeof api.settings.list.query>>[number]

const columns = (): Column<Setting>[] => [
  {
    key: 'name',
    label: t('app.admin.setting'),
    cell: ({ name, meaning }) => (
      <span>
        <code>{name}</code>
        <span className="sub" lang="en">
          {meaning}
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

/** Shows the settings, which are changed where the service is started, callers of what is deprecated, and storage. */
export function ServiceSettingsSection() {
  const { data, error } = useRead(['settings'], (signal) => api.settings.list.query(undefined, { signal }))
  const rows = useLocalRows({
    ...{ all: data, error, columns: columns() },
    texts: ({ name, meaning }) => [name, meaning],
    isChosen: ({ isSet }, { source }) => !source || isSet === (source === 'set'),
  })
  return (
    <>
      <RecordTable
        label={t('app.admin.settings')}
        columns={columns()}
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
      <Storage />
    </>
  )
}

/** Lists the callers of what is deprecated. */
function Deprecations() {
  const { data = [], error } = useFigures(['deprecations'], (signal) =>
    api.deprecations.callers.query({ limit: LAST_CALLERS }, { signal }),
  )
  return (
    <Part title={t('app.admin.deprecations')}>
      {error && <FormError error={error} />}
      {data.length === 0 ? (
        <p className="hint">{t('app.admin.noDeprecations')}</p>
      ) : (
        <table className="plain-table">
          <thead>
            <tr>
              <th scope="col">{t('app.admin.address')}</th>
              <th scope="col">{t('app.admin.actor')}</th>
              <th scope="col" className="number">
                {t('app.admin.requests')}
              </th>
              <th scope="col">{t('app.admin.lastUsed')}</th>
            </tr>
          </thead>
          <tbody>
            {data.map(({ route, username, token, calls, lastCalledAt }) => (
              <tr key={`${route} ${username} ${token}`}>
                <td>
                  <code>{route}</code>
                </td>
                <td>{[username, token].filter(Boolean).join(', ')}</td>
                <td className="number">{numberText(calls)}</td>
                <td>{minuteText(lastCalledAt)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Part>
  )
}

const MEGA = 1_000_000

const sizeText = ({ files, bytes }: { files: number; bytes: number }) =>
  t('app.admin.filesOf', { files: numberText(files), size: numberText(Math.ceil(bytes / MEGA)) })

const sumUp = (list: readonly { files: number; bytes: number }[]) =>
  list.reduce((all, { files, bytes }) => ({ files: all.files + files, bytes: all.bytes + bytes }), {
    files: 0,
    bytes: 0,
  })

function Storage() {
  const { data, error } = useFigures(['storage'], (signal) => api.files.stats.query(undefined, { signal }))
  const expired = useFigures(['expired'], (signal) => api.files.expired.query({}, { signal }))
  return (
    <Part title={t('app.admin.storage')}>
      {error && <FormError error={error} />}
      {data && (
        <Facts
          facts={[
            [t('app.admin.files'), sizeText(data)],
            [t('app.admin.pictures'), sizeText(data.pictures)],
            [t('app.admin.expired'), expired.data && sizeText(sumUp(expired.data))],
          ]}
        />
      )}
    </Part>
  )
}
