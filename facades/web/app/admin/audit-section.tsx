import { api } from '../shared/api/client.ts'
import { formatDateTime } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { useCall, useRecords } from './admin-queries.ts'
import { useFilters } from './filters.ts'
import { withFreshSession } from './fresh-session.tsx'
import { StateBadge } from './parts.tsx'
import { type Column, DayField, RecordTable, type Rows, SearchField } from './record-table.tsx'

type Entry = Awaited<ReturnType<typeof api.audit.list.query>>['entries'][number]

const PAGE_SIZE = 50
const ALL_SIZE = 1000
const filterNames = ['act', 'actor', 'subject', 'outcome', 'from', 'to'] as const

/**
 * Reads the entries that match the filters. A page is read from the first entry on, as the audit log has no page
 * numbers.
 */
function useEntries(): Rows<Entry> {
  const { filters } = useFilters()
  const criteria = Object.fromEntries(filterNames.flatMap((name) => (filters[name] ? [[name, filters[name]]] : [])))
  const page = Number(filters['page'] ?? 1)
  const { data, error } = useRecords(['audit', criteria, page], async (signal) => {
    const limit = Math.min(ALL_SIZE, page * PAGE_SIZE)
    const { entries, next } = await api.audit.list.query({ ...criteria, limit }, { signal })
    return { entries: entries.slice((page - 1) * PAGE_SIZE), hasMore: next !== null && limit < ALL_SIZE }
  })
  const readAll = async () => {
    const all: Entry[] = []
    let before: number | null = null
    do {
      const input: { limit: number; before?: number } = { limit: ALL_SIZE, ...(before !== null && { before }) }
      const { entries, next } = await api.audit.list.query({ ...criteria, ...input })
      all.push(...entries)
      before = next
    } while (before !== null)
    return all
  }
  return { rows: data?.entries, error, hasMore: data?.hasMore ?? false, readAll }
}

const OK_OUTCOME = 'ok'

const buildColumns = (): Column<Entry>[] => [
  { key: 'at', label: t('app.admin.at'), cell: ({ at }) => formatDateTime(at), text: ({ at }) => at },
  { key: 'actor', label: t('app.admin.actor'), cell: ({ actor }) => actor, text: ({ actor }) => actor },
  { key: 'act', label: t('app.admin.act'), cell: ({ act }) => <code>{act}</code>, text: ({ act }) => act },
  { key: 'subject', label: t('app.admin.subject'), cell: ({ subject }) => subject, text: ({ subject }) => subject },
  {
    key: 'outcome',
    label: t('app.admin.outcome'),
    cell: ({ outcome }) => <StateBadge kind={outcome === OK_OUTCOME ? 'ok' : 'wrong'}>{outcome}</StateBadge>,
    text: ({ outcome }) => outcome,
  },
  {
    key: 'change',
    label: t('app.admin.change'),
    cell: ({ change, origin, requestId }) => <Details value={{ ...change, ...origin, requestId }} />,
    text: ({ change }) => JSON.stringify(change),
  },
]

const Details = ({ value }: { value: unknown }) => (
  <details>
    <summary>{t('app.admin.details')}</summary>
    <pre>{JSON.stringify(value, null, 2)}</pre>
  </details>
)

/** Lists the entries of the audit log. */
export const AuditSection = () => (
  <RecordTable
    label={t('app.admin.audit')}
    columns={buildColumns()}
    rowKey={({ seq }) => seq}
    {...useEntries()}
    none={t('app.admin.noEntries')}
    filters={
      <>
        <SearchField name="act" label={t('app.admin.act')} />
        <SearchField name="actor" label={t('app.admin.actor')} />
        <SearchField name="subject" label={t('app.admin.subject')} />
        <DayField name="from" label={t('app.admin.from')} />
        <DayField name="to" label={t('app.admin.to')} />
      </>
    }
    actions={<VerifyLog />}
  />
)

type Verdict = Awaited<ReturnType<typeof api.audit.verify.query>>

/** Verifies the hash chain, which reveals entries that were changed or removed. */
function VerifyLog() {
  const { isWorking, result, error, run } = useCall<Verdict>()
  const verify = () => run(() => withFreshSession(() => api.audit.verify.query({})))
  return (
    <>
      <button type="button" className="quiet-button" aria-disabled={isWorking} onClick={verify}>
        {t(isWorking ? 'page.working' : 'app.admin.verify')}
      </button>
      <span role="status">{result && <VerdictText {...result} />}</span>
      <ErrorMessage error={error} />
    </>
  )
}

const VerdictText = ({ isWhole, entries, findings }: Verdict) => (
  <StateBadge kind={isWhole ? 'ok' : 'wrong'}>
    {isWhole
      ? t('app.admin.chainWhole', { count: entries })
      : t('app.admin.chainBroken', { reason: findings.map(({ seq, problem }) => `${seq} ${problem}`).join('; ') })}
  </StateBadge>
)
