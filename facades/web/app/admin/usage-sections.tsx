import { api } from '../shared/api/client.ts'
import { formatDateTime, formatMoney, formatNumber } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ActionButton } from './action-button.tsx'
import { readPages, useFigures } from './admin-queries.ts'
import { findChoice, useFilters } from './filters.ts'
import { ChoiceField, type Column, DayField, RecordTable } from './record-table.tsx'

const billDimensions = ['group', 'user', 'app', 'model', 'provider'] as const
const usageDimensions = [...billDimensions, 'room', 'day'] as const
type Dimension = (typeof usageDimensions)[number]
const dimensionLabels = {
  group: 'app.admin.ofGroup',
  user: 'app.admin.ofUser',
  app: 'app.admin.ofApp',
  model: 'app.admin.ofModel',
  provider: 'app.admin.ofProvider',
  room: 'app.admin.ofRoom',
  day: 'app.admin.day',
} as const

const PAGE_SIZE = 50
const ALL_SIZE = 1000
const MICROS = 1_000_000

type UsageSum = Awaited<ReturnType<typeof api.usage.list.query>>['rows'][number]
type BillLine = Awaited<ReturnType<typeof api.usage.bill.query>>['rows'][number]

/** The members that usage sums and lines of a bill share. */
interface UsageFigures {
  requests: number
  inputTokens: number
  outputTokens: number
  unpriced: number
  costMicros: number | null
  currency: string | null
}

/** Builds the columns that usage and bills share. */
const buildSumColumns = <Row extends UsageFigures>(): Column<Row>[] => [
  buildCountColumn('requests', 'app.admin.requests'),
  buildCountColumn('inputTokens', 'app.admin.inputTokens'),
  buildCountColumn('outputTokens', 'app.admin.outputTokens'),
  {
    key: 'cost',
    label: t('app.admin.cost'),
    cell: ({ costMicros, currency }) => (costMicros === null || !currency ? '–' : formatMoney(costMicros, currency)),
    text: ({ costMicros }) => (costMicros === null ? null : costMicros / MICROS),
    isNumber: true,
  },
  { key: 'currency', label: t('app.admin.currency'), text: ({ currency }) => currency },
  buildCountColumn('unpriced', 'app.admin.unpriced'),
]

const buildCountColumn = <Key extends string, Row extends Record<Key, number>>(
  key: Key,
  label: string,
): Column<Row> => ({
  key,
  label: t(label),
  cell: (row) => formatNumber(row[key]),
  text: (row) => row[key],
  isNumber: true,
})

const buildNameColumn = <Row,>(by: Dimension, name: (row: Row) => string | null): Column<Row> => ({
  key: 'name',
  label: t(dimensionLabels[by]),
  cell: (row) => name(row) ?? t('app.admin.none'),
  text: (row) => name(row) ?? '',
})

const ByField = ({ dimensions }: { dimensions: readonly Dimension[] }) => (
  <ChoiceField
    name="by"
    label={t('app.admin.by')}
    choices={dimensions.map((each) => [each, t(dimensionLabels[each])])}
    defaultValue="group"
  />
)

const PrintButton = () => (
  <button type="button" className="quiet-button" onClick={() => print()}>
    {t('app.admin.print')}
  </button>
)

/** Returns the current month in UTC. */
const getThisMonth = () => new Date().toISOString().slice(0, 7)

/** Usage and its cost by group, person, app, model or day. */
export function UsageSection() {
  const { filters } = useFilters()
  const by = findChoice(usageDimensions, filters['by']) ?? 'group'
  const firstDay = `${getThisMonth()}-01`
  const criteria = { by, from: filters['from'] ?? firstDay, ...(filters['to'] && { to: filters['to'] }) }
  const input = { ...criteria, page: Number(filters['page'] ?? 1), size: PAGE_SIZE }
  const { data, error } = useFigures(['usage', input], (signal) => api.usage.list.query(input, { signal }))
  return (
    <RecordTable
      label={t('app.admin.usage')}
      columns={[buildNameColumn(by, (sum: UsageSum) => sum[by] ?? null), ...buildSumColumns()]}
      rowKey={(sum) => `${sum[by]} ${sum.currency}`}
      rows={data?.rows}
      error={error}
      hasMore={data?.hasMore ?? false}
      readAll={() => readPages((page) => api.usage.list.query({ ...criteria, page, size: ALL_SIZE }))}
      none={t('app.admin.noUsage')}
      filters={
        <>
          <ByField dimensions={usageDimensions} />
          <DayField name="from" label={t('app.admin.from')} defaultValue={firstDay} />
          <DayField name="to" label={t('app.admin.to')} />
        </>
      }
      actions={<PrintButton />}
    />
  )
}

/** The bill of a month by group, person, app, model or provider. A closed bill no longer changes. */
export function BillsSection() {
  const { filters } = useFilters()
  const by = findChoice(billDimensions, filters['by']) ?? 'group'
  const criteria = { by, month: filters['month'] ?? getThisMonth() }
  const input = { ...criteria, page: Number(filters['page'] ?? 1), size: PAGE_SIZE }
  const { data, error } = useFigures(['bill', input], (signal) => api.usage.bill.query(input, { signal }))
  const closedAt = data?.closedAt ?? null
  return (
    <RecordTable
      label={t('app.admin.bills')}
      columns={[
        buildNameColumn(by, ({ name }: BillLine) => name),
        ...buildSumColumns(),
        buildCountColumn('estimated', 'app.admin.estimated'),
      ]}
      rowKey={({ name, currency }) => `${name} ${currency}`}
      rows={data?.rows}
      error={error}
      hasMore={data?.hasMore ?? false}
      readAll={() => readPages((page) => api.usage.bill.query({ ...criteria, page, size: ALL_SIZE }))}
      none={t('app.admin.noUsage')}
      filters={
        <>
          <DayField name="month" type="month" label={t('app.admin.month')} defaultValue={getThisMonth()} />
          <ByField dimensions={billDimensions} />
        </>
      }
      actions={
        <>
          {closedAt === null ? (
            <CloseMonth month={criteria.month} />
          ) : (
            <span>{t('app.admin.closedAt', { time: formatDateTime(closedAt) })}</span>
          )}
          <PrintButton />
        </>
      }
    />
  )
}

const CloseMonth = ({ month }: { month: string }) => (
  <ActionButton
    label={t('app.admin.closeMonth')}
    title={t('app.admin.closeMonthOf', { month })}
    text={t('app.admin.closeMonthText')}
    action={t('app.admin.closeMonth')}
    isDangerous
    act={() => api.usage.close.mutate({ month })}
  />
)
