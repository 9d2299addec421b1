import { api } from '../shared/api/client.ts'
import { moneyText, numberText } from '../shared/text/amounts.ts'
import { t } from '../shared/text/labels.ts'
import { useFigures } from './admin-queries.ts'
import { oneOf, useFilters } from './filters.ts'
import { ChoiceField, type Column, DayField, RecordTable, type Rows } from './record-table.tsx'

type Sum = Awaited<ReturnType<typeof api.usage.list.query>>['rows'][number]

const dimensions = ['group', 'user', 'app', 'model', 'provider', 'room', 'day'] as const
type Dimension = (typeof dimensions)[number]
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

/** The first day of the month, in UTC. */
const monthBegin = () => `${new Date().toISOString().slice(0, 7)}-01`

function useSums(by: Dimension): Rows<Sum> {
  const { filters } = useFilters()
  const chosen = { by, from: filters['from'] ?? monthBegin(), ...(filters['to'] && { to: filters['to'] }) }
  const input = { ...chosen, page: Number(filters['page'] ?? 1), size: PAGE_SIZE }
  const { data, error } = useFigures(['usage', input], (signal) => api.usage.list.query(input, { signal }))
  const readAll = async () => {
    const all: Sum[] = []
    for (let page = 1; ; page++) {
      const { rows, hasMore } = await api.usage.list.query({ ...chosen, page, size: ALL_SIZE })
      all.push(...rows)
      if (!hasMore) return all
    }
  }
  return { rows: data?.rows, error, hasMore: data?.hasMore ?? false, readAll }
}

const costText = ({ costMicros, currency }: Sum) =>
  costMicros === null || !currency ? '–' : moneyText(costMicros, currency)

const MICROS = 1_000_000

const columnsFor = (by: Dimension): Column<Sum>[] => [
  {
    key: 'name',
    label: t(dimensionLabels[by]),
    cell: (sum) => sum[by] ?? t('app.admin.none'),
    text: (sum) => sum[by] ?? '',
  },
  {
    key: 'requests',
    label: t('app.admin.requests'),
    cell: ({ requests }) => numberText(requests),
    text: ({ requests }) => requests,
    isNumber: true,
  },
  {
    key: 'input',
    label: t('app.admin.inputTokens'),
    cell: ({ inputTokens }) => numberText(inputTokens),
    text: ({ inputTokens }) => inputTokens,
    isNumber: true,
  },
  {
    key: 'output',
    label: t('app.admin.outputTokens'),
    cell: ({ outputTokens }) => numberText(outputTokens),
    text: ({ outputTokens }) => outputTokens,
    isNumber: true,
  },
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
  {
    key: 'unpriced',
    label: t('app.admin.unpriced'),
    cell: ({ unpriced }) => numberText(unpriced),
    text: ({ unpriced }) => unpriced,
    isNumber: true,
  },
]

/** Shows usage and its cost by group, person, app, model and day. */
export function UsageSection() {
  const { filters } = useFilters()
  const by = oneOf(dimensions, filters['by']) ?? 'group'
  return (
    <RecordTable
      label={t('app.admin.usage')}
      columns={columnsFor(by)}
      rowKey={(sum) => `${sum[by]} ${sum.currency}`}
      {...useSums(by)}
      none={t('app.admin.noUsage')}
      filters={
        <>
          <ChoiceField
            name="by"
            label={t('app.admin.by')}
            choices={dimensions.map((each) => [each, t(dimensionLabels[each])])}
            usual="group"
          />
          <DayField name="from" label={t('app.admin.from')} usual={monthBegin()} />
          <DayField name="to" label={t('app.admin.to')} />
        </>
      }
      actions={
        <button type="button" className="quiet-button" onClick={() => print()}>
          {t('app.admin.print')}
        </button>
      }
    />
  )
}
