import { api } from '../shared/api/client.ts'
import { moneyText, numberText } from '../shared/text/amounts.ts'
import { t } from '../shared/text/labels.ts'
import { minuteText } from '../shared/text/moments.ts'
import { ActionButton } from './action-dialog.tsx'
import { useFigures } from './admin-queries.ts'
import { oneOf, useFilters } from './filters.ts'
import { ChoiceField, type Column, DayField, RecordTable } from './record-table.tsx'

type Line = Awaited<ReturnType<typeof api.usage.bill.query>>['rows'][number]

const dimensions = ['group', 'user', 'app', 'model', 'provider'] as const
const dimensionLabels = {
  group: 'app.admin.ofGroup',
  user: 'app.admin.ofUser',
  app: 'app.admin.ofApp',
  model: 'app.admin.ofModel',
  provider: 'app.admin.ofProvider',
} as const

const PAGE_SIZE = 50
const ALL_SIZE = 1000
const MICROS = 1_000_000

const thisMonth = () => new Date().toISOString().slice(0, 7)

function useBill() {
  const { filters } = useFilters()
  const by = oneOf(dimensions, filters['by']) ?? 'group'
  const chosen = { by, month: filters['month'] ?? thisMonth() }
  const input = { ...chosen, page: Number(filters['page'] ?? 1), size: PAGE_SIZE }
  const { data, error } = useFigures(['bill', input], (signal) => api.usage.bill.query(input, { signal }))
  const readAll = async () => {
    const all: Line[] = []
    for (let page = 1; ; page++) {
      const { rows, hasMore } = await api.usage.bill.query({ ...chosen, page, size: ALL_SIZE })
      all.push(...rows)
      if (!hasMore) return all
    }
  }
  const rows = { rows: data?.rows, error, hasMore: data?.hasMore ?? false, readAll }
  return { ...chosen, closedAt: data?.closedAt ?? null, rows }
}

const costText = ({ costMicros, currency }: Line) =>
  costMicros === null || !currency ? '–' : moneyText(costMicros, currency)

const columnsFor = (by: (typeof dimensions)[number]): Column<Line>[] => [
  {
    key: 'name',
    label: t(dimensionLabels[by]),
    cell: ({ name }) => name ?? t('app.admin.none'),
    text: ({ name }) => name,
  },
  count('requests', 'app.admin.requests'),
  count('inputTokens', 'app.admin.inputTokens'),
  count('outputTokens', 'app.admin.outputTokens'),
  {
    key: 'cost',
    label: t('app.admin.cost'),
    cell: costText,
    text: ({ costMicros }) => (costMicros === null ? null : costMicros / MICROS),
    isNumber: true,
  },
  {
    key: 'currency',
    label: t('app.admin.currency'),
    cell: ({ currency }) => currency,
    text: ({ currency }) => currency,
  },
  count('estimated', 'app.admin.estimated'),
  count('unpriced', 'app.admin.unpriced'),
]

const count = (key: 'requests' | 'inputTokens' | 'outputTokens' | 'estimated' | 'unpriced', label: string) => ({
  key,
  label: t(label),
  cell: (line: Line) => numberText(line[key]),
  text: (line: Line) => line[key],
  isNumber: true,
})

/** Bills a month by group, person, app, model or provider; a closed one stays as it is. */
export function BillsSection() {
  const { by, month, closedAt, rows } = useBill()
  return (
    <RecordTable
      label={t('app.admin.bills')}
      columns={columnsFor(by)}
      rowKey={({ name, currency }) => `${name} ${currency}`}
      {...rows}
      none={t('app.admin.noUsage')}
      filters={
        <>
          <DayField name="month" type="month" label={t('app.admin.month')} usual={thisMonth()} />
          <ChoiceField
            name="by"
            label={t('app.admin.by')}
            choices={dimensions.map((each) => [each, t(dimensionLabels[each])])}
            usual="group"
          />
        </>
      }
      actions={
        <>
          {closedAt === null ? (
            <CloseMonth month={month} />
          ) : (
            <span>{t('app.admin.closedAt', { time: minuteText(closedAt) })}</span>
          )}
          <button type="button" className="quiet-button" onClick={() => print()}>
            {t('app.admin.print')}
          </button>
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
