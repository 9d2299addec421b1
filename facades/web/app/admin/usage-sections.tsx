import type { ReactNode } from 'react'
import { api } from '../shared/api/client.ts'
import { formatDateTime, formatMoney, formatNumber } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { ActionButton } from './action-button.tsx'
import { useFigures } from './admin-queries.ts'
import { CatalogueName } from './catalogue/catalogue-name.tsx'
import { findChoice } from './filters.ts'
import { ChoiceField, type Column, DayField } from './record-table.tsx'
import { definePagedSection } from './section.tsx'

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
  cell: (row) => describeName(by, name(row)),
  text: (row) => name(row) ?? '',
})

function describeName(by: Dimension, name: string | null): ReactNode {
  if (name === null) return t('app.admin.none')
  return by === 'model' || by === 'provider' ? <CatalogueName kind={by} id={name} /> : name
}

const ByField = ({ dimensions }: { dimensions: readonly Dimension[] }) => (
  <ChoiceField
    name="by"
    label={t('app.admin.by')}
    choices={dimensions.map((each) => [each, t(dimensionLabels[each])])}
    defaultValue="group"
  />
)

const PrintButton = () => <Button onClick={() => print()}>{t('app.admin.print')}</Button>

/** Returns the current month in UTC. */
const getThisMonth = () => new Date().toISOString().slice(0, 7)

const getFirstDay = () => `${getThisMonth()}-01`

/** Returns the dimension that the address names. */
const findDimension = <Name extends Dimension>(name: string | undefined, dimensions: readonly Name[]) =>
  findChoice(dimensions, name) ?? 'group'

/** Usage and its cost by group, person, app, model or day. */
export const UsageSection = definePagedSection({
  labels: { title: 'app.admin.usage', none: 'app.admin.noUsage' },
  key: 'usage',
  read: ({ by, from = getFirstDay(), to }, page, options) =>
    api.usage.list.query({ by: findDimension(by, usageDimensions), from, ...(to && { to }), ...page }, options),
  getRows: ({ rows }) => rows,
  useData: useFigures,
  rowKey: (sum: UsageSum) => `${usageDimensions.map((by) => sum[by]).join(' ')} ${sum.currency}`,
  columns: (_, { by: name }) => {
    const by = findDimension(name, usageDimensions)
    return [buildNameColumn(by, (sum) => sum[by] ?? null), ...buildSumColumns()]
  },
  filters: () => (
    <>
      <ByField dimensions={usageDimensions} />
      <DayField name="from" label={t('app.admin.from')} defaultValue={getFirstDay()} />
      <DayField name="to" label={t('app.admin.to')} />
    </>
  ),
  actions: () => <PrintButton />,
})

/** The bill of a month by group, person, app, model or provider. A closed bill no longer changes. */
export const BillsSection = definePagedSection({
  labels: { title: 'app.admin.bills', none: 'app.admin.noUsage' },
  key: 'bill',
  read: ({ by, month = getThisMonth() }, page, options) =>
    api.usage.bill.query({ by: findDimension(by, billDimensions), month, ...page }, options),
  getRows: ({ rows }) => rows,
  useData: useFigures,
  rowKey: ({ name, currency }: BillLine) => `${name} ${currency}`,
  columns: (_, { by }) => [
    buildNameColumn(findDimension(by, billDimensions), ({ name }) => name),
    ...buildSumColumns(),
    buildCountColumn('estimated', 'app.admin.estimated'),
  ],
  filters: () => (
    <>
      <DayField name="month" type="month" label={t('app.admin.month')} defaultValue={getThisMonth()} />
      <ByField dimensions={billDimensions} />
    </>
  ),
  actions: (bill, { month = getThisMonth() }) => (
    <>
      <PrintButton />
      {bill?.closedAt ? (
        <span>{t('app.admin.closedAt', { time: formatDateTime(bill.closedAt) })}</span>
      ) : (
        <CloseMonth month={month} />
      )}
    </>
  ),
})

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
