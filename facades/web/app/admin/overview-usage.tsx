import type { ComponentProps, ReactNode } from 'react'
import { api } from '../shared/api/client.ts'
import { getDayBefore } from '../shared/days.ts'
import { formatMoney, formatNumber, formatUtcDay } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { numberHead, Table } from '../shared/ui/table.tsx'
import { useFigures } from './admin-queries.ts'
import { BarChart } from './bar-chart.tsx'
import { CatalogueName } from './catalogue/catalogue-name.tsx'
import styles from './overview-usage.module.css'
import { Folded, Part } from './parts.tsx'

/** The usage of the last days, and the time and the failures of models. */
export const UsageOverview = () => (
  <>
    <DailyUsage />
    <UsageRanking by="model" title={t('app.admin.byModel')} />
    <UsageRanking by="provider" title={t('app.admin.byProvider')} />
    <UsageRanking by="group" title={t('app.admin.byGroup')} />
    <ModelQuality order="slowest" title={t('app.admin.slowest')} />
    <ModelQuality order="failing" title={t('app.admin.failing')} />
  </>
)

const DAYS = 30

type UsageSum = Awaited<ReturnType<typeof api.usage.list.query>>['rows'][number]
type Dimension = 'day' | 'model' | 'provider' | 'group'

/** Reads the usage of the last days by a dimension. */
const useSums = (by: Dimension) =>
  useFigures(['overview', by], (signal) =>
    api.usage.list.query({ by, from: getDayBefore(DAYS - 1), size: 100 }, { signal }),
  )

const countTokens = ({ inputTokens, outputTokens }: UsageSum) => inputTokens + outputTokens

/** Groups sums by a dimension; each currency has a sum of its own. */
const groupSums = (sums: readonly UsageSum[], by: Dimension) => [...Map.groupBy(sums, (sum) => sum[by] ?? null)]

const addUp = (sums: readonly UsageSum[], measure: (sum: UsageSum) => number) =>
  sums.reduce((all, sum) => all + measure(sum), 0)

interface SumTableProps {
  label: string
  /** The head of the column of names. */
  head: string
  rows: ComponentProps<typeof Table>['rows']
}

const SumTable = ({ label, head, rows }: SumTableProps) => (
  <Table
    label={label}
    heads={[
      head,
      numberHead(t('app.admin.requests')),
      numberHead(t('app.admin.tokens')),
      numberHead(t('app.admin.cost')),
    ]}
    rows={rows}
    isStacked={false}
  />
)

const buildSumCells = (name: ReactNode, sums: readonly UsageSum[]) => [
  name,
  formatNumber(addUp(sums, ({ requests }) => requests)),
  formatNumber(addUp(sums, countTokens)),
  describeCosts(sums),
]

const describeCosts = (sums: readonly UsageSum[]) =>
  sums
    .flatMap(({ costMicros, currency }) => (costMicros === null || !currency ? [] : formatMoney(costMicros, currency)))
    .join(' + ') || '–'

function DailyUsage() {
  const { data, error } = useSums('day')
  const sums = data?.rows ?? []
  const rows = groupSums(sums, 'day').map(([day, ofDay]) => ({
    key: `${day}`,
    cells: buildSumCells(formatUtcDay(day ?? ''), ofDay),
  }))
  const currencies = [...new Set(sums.flatMap(({ currency }) => currency ?? []))]
  return (
    <Part title={t('app.admin.lastDays')}>
      <ErrorMessage error={error} />
      {data && (
        <>
          <div className={styles.charts}>
            <DayChart
              sums={sums}
              figure={t('app.admin.requests')}
              measure={({ requests }) => requests}
              toText={formatNumber}
            />
            <DayChart sums={sums} figure={t('app.admin.tokens')} measure={countTokens} toText={formatNumber} />
            {currencies.map((currency) => (
              <DayChart
                key={currency}
                sums={sums.filter((sum) => sum.currency === currency)}
                figure={t('app.admin.cost')}
                measure={({ costMicros }) => costMicros ?? 0}
                toText={(value) => formatMoney(value, currency)}
              />
            ))}
          </div>
          <Folded summary={t('app.admin.asTable')}>
            <SumTable label={t('app.admin.lastDays')} head={t('app.admin.day')} rows={rows} />
          </Folded>
        </>
      )}
    </Part>
  )
}

interface DayChartProps {
  sums: readonly UsageSum[]
  figure: string
  measure: (sum: UsageSum) => number
  toText: (value: number) => string
}

/** A chart of one figure by day, with its total. */
function DayChart({ sums, figure, measure, toText }: DayChartProps) {
  const byDay = Map.groupBy(sums, ({ day }) => day ?? '')
  const bars = Array.from({ length: DAYS }, (_, index) => {
    const day = getDayBefore(DAYS - 1 - index)
    const value = addUp(byDay.get(day) ?? [], measure)
    return { name: formatUtcDay(day), value, text: toText(value) }
  })
  const total = toText(bars.reduce((all, { value }) => all + value, 0))
  return (
    <div>
      <h3>
        {figure} <span className={styles.sum}>{total}</span>
      </h3>
      <BarChart bars={bars} label={t('app.admin.chart', { name: figure, total })} />
    </div>
  )
}

const MAX_ROWS = 10
const headLabels = { model: 'app.field.model', provider: 'app.field.provider', group: 'app.admin.group' } as const

/** The most used models, providers or groups, as bars beside their figures. */
function UsageRanking({ by, title }: { by: keyof typeof headLabels; title: string }) {
  const { data, error } = useSums(by)
  const most = groupSums(data?.rows ?? [], by)
    .map(([name, sums]) => ({ name, sums, tokens: addUp(sums, countTokens) }))
    .toSorted((a, b) => b.tokens - a.tokens)
    .slice(0, MAX_ROWS)
  if (error && !data) return <ErrorMessage error={error} />
  if (most.length === 0) return null
  const max = Math.max(1, ...most.map(({ tokens }) => tokens))
  const rows = most.map(({ name, sums, tokens }) => {
    const bar = (
      <ShareBar key="name" share={tokens / max}>
        {name === null || by === 'group' ? (name ?? t('app.admin.none')) : <CatalogueName kind={by} id={name} />}
      </ShareBar>
    )
    return { key: `${name}`, cells: buildSumCells(bar, sums) }
  })
  return (
    <Part title={title}>
      <SumTable label={title} head={t(headLabels[by])} rows={rows} />
    </Part>
  )
}

const ShareBar = ({ share, children }: { share: number; children: ReactNode }) => (
  <>
    {children}
    <svg className={styles.share} viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
      <rect width={share * 100} height="1" />
    </svg>
  </>
)

const SECOND_MS = 1000
const QUALITY_ROWS = 5

const formatSeconds = (time: number | null) =>
  time === null ? '–' : t('app.admin.seconds', { seconds: formatNumber(Math.round(time / 100) / (SECOND_MS / 100)) })

function ModelQuality({ order, title }: { order: 'slowest' | 'failing'; title: string }) {
  const { data = [], error } = useFigures(['quality', order], (signal) =>
    api.overview.models.query({ order }, { signal }),
  )
  if (error && data.length === 0) return <ErrorMessage error={error} />
  const models = data.filter(({ failed }) => order === 'slowest' || failed > 0).slice(0, QUALITY_ROWS)
  if (models.length === 0) return null
  return (
    <Part title={title}>
      <Table
        label={title}
        heads={[
          t('app.field.model'),
          numberHead(t('app.admin.requests')),
          numberHead(t('app.admin.failed')),
          numberHead(t('app.admin.median')),
          numberHead(t('app.admin.firstToken')),
        ]}
        rows={models.map(({ model, provider, calls, failed, medianMs, firstPieceMs }) => ({
          key: `${provider} ${model}`,
          cells: [
            <CatalogueName key="name" kind="model" id={model} />,
            formatNumber(calls),
            formatNumber(failed),
            formatSeconds(medianMs),
            formatSeconds(firstPieceMs),
          ],
        }))}
      />
    </Part>
  )
}
