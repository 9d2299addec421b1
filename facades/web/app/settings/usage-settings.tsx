import { useQuery } from '@tanstack/react-query'
import { api } from '../shared/api/client.ts'
import { getDayBefore } from '../shared/days.ts'
import { formatMoney, formatNumber, formatUtcDay } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { CHART_HEIGHT, DayChart } from '../shared/ui/day-chart.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Skeleton } from '../shared/ui/skeleton.tsx'
import { numberHead, Table } from '../shared/ui/table.tsx'
import { useCatalogueNames } from './catalogue-names.ts'
import { LimitMeters } from './limit-meters.tsx'
import { SettingsSection } from './settings-section.tsx'
import styles from './usage-settings.module.css'

/** The limits of the person, and their usage of the last days. */
export const UsageSettings = () => (
  <>
    <LimitMeters />
    <SettingsSection title={t('app.settings.usageTitle')}>
      <UsageReport />
    </SettingsSection>
  </>
)

/** The days of the report: the 30 days that the service returns by default, and today. */
const REPORT_DAYS = 31

function UsageReport() {
  const names = useCatalogueNames().models
  const { data: sums, error } = useQuery({
    queryKey: ['usage'],
    queryFn: ({ signal }) => api.usage.summary.query({}, { signal }),
  })
  if (error && !sums) return <ErrorMessage error={error} />
  if (!sums) return <Skeleton height="low" />
  if (sums.length === 0) return <p>{t('app.settings.usageNone')}</p>
  const total = sumUsage(sums)
  return (
    <>
      <UsageChart
        sums={sums}
        names={names}
        days={REPORT_DAYS}
        label={t('app.settings.usageChart', { tokens: formatNumber(total.tokens) })}
      />
      <SumTable head={t('app.settings.usageModel')} rows={groupByModel(sums, names)} total={total} />
      {listRemarks(sums).map((remark) => (
        <p key={remark} className="hint">
          {remark}
        </p>
      ))}
      <details className={styles.days}>
        <summary>{t('app.settings.usageByDay')}</summary>
        <SumTable head={t('app.settings.usageDay')} rows={groupByDay(sums)} />
      </details>
    </>
  )
}

interface SumTableProps {
  head: string
  rows: readonly SumGroup[]
  total?: UsageTotal
}

const SumTable = ({ head, rows, total }: SumTableProps) => (
  <Table
    isStacked={false}
    heads={[
      head,
      numberHead(t('app.settings.usageRequests')),
      numberHead(t('app.settings.usageTokens')),
      numberHead(t('app.settings.usageCost')),
    ]}
    rows={rows.map(({ key, name, sums }) => ({ key, cells: buildCells(name, sumUsage(sums)) }))}
    {...(total && { foot: buildCells(t('app.settings.usageTotal'), total) })}
  />
)

const buildCells = (name: string, { requests, tokens, costs }: UsageTotal) => [
  name,
  formatNumber(requests),
  formatNumber(tokens),
  [...costs].map(([currency, micros]) => formatMoney(micros, currency)).join(' + ') || '–',
]

/** Lists how many calls have no price, and how many are estimates. */
function listRemarks(sums: readonly UsageSum[]): string[] {
  const [estimated, unpriced] = [sumBy(sums, (sum) => sum.estimated), sumBy(sums, (sum) => sum.unpriced)]
  return [
    ...(estimated > 0 ? [t('app.settings.usageEstimated', { count: estimated })] : []),
    ...(unpriced > 0 ? [t('app.settings.usageUnpriced', { count: unpriced })] : []),
  ]
}

/** The colors of the models with one of their own; the others share one. */
const colors = [styles.first, styles.second, styles.third, styles.fourth, styles.fifth]

interface UsageChartProps {
  sums: readonly UsageSum[]
  names: ModelNames
  days: number
  /** The description for screen readers. */
  label: string
}

/** A bar of tokens for each day, stacked by model, with a legend. */
function UsageChart({ sums, names, days, label }: UsageChartProps) {
  const axis = listLastDays(days)
  const series = assignSeries(sums, names)
  const [first, last] = [axis[0], axis.at(-1)]
  return (
    <DayChart
      label={label}
      width={days}
      highest={t('app.limit.tokens', { count: Math.max(0, ...listTotals(sums)) })}
      bars={buildBars(sums, axis, series)}
      first={first && formatUtcDay(first)}
      last={last && formatUtcDay(last)}
    >
      <figcaption className={styles.legend}>
        {[...new Set(series.values())].map(({ name, className }) => (
          <span key={className}>
            <i className={className} />
            {name}
          </span>
        ))}
      </figcaption>
    </DayChart>
  )
}

interface Series {
  name: string
  className: string | undefined
}

/** Assigns a series to each model, the most used models first. */
function assignSeries(sums: readonly UsageSum[], names: ModelNames): Map<string, Series> {
  const rest = { name: t('app.settings.usageOthers'), className: styles.others }
  return new Map(
    groupByModel(sums, names).map(({ key, name }, index) => [
      key,
      index < colors.length ? { name, className: colors[index] } : rest,
    ]),
  )
}

/** Lists the last days in UTC, in which the service counts them. */
const listLastDays = (days: number) => Array.from({ length: days }, (_, index) => getDayBefore(days - 1 - index))

/** Lists the tokens of each day that has some. */
const listTotals = (sums: readonly UsageSum[]): number[] =>
  [...Map.groupBy(sums, ({ day }) => day).values()].map((ofDay) => sumBy(ofDay, countTokens))

function buildBars(sums: readonly UsageSum[], axis: readonly string[], series: ReadonlyMap<string, Series>) {
  const byDay = Map.groupBy(sums, ({ day }) => day)
  const max = Math.max(1, ...listTotals(sums))
  return axis.flatMap((day, index) => {
    let top = CHART_HEIGHT
    return [...Map.groupBy(byDay.get(day) ?? [], ({ model }) => series.get(model))].map(([part, partSums]) => {
      const tokens = sumBy(partSums, countTokens)
      const height = (tokens / max) * CHART_HEIGHT
      top -= height
      return {
        key: `${day} ${part?.name}`,
        title: `${formatUtcDay(day)}, ${part?.name}: ${formatNumber(tokens)}`,
        x: index + 0.1,
        y: top,
        height,
        className: part?.className,
      }
    })
  })
}

/** The usage of one day, by model and currency. */
type UsageSum = Awaited<ReturnType<typeof api.usage.summary.query>>[number]

/** The total of several rows, with costs by currency. */
interface UsageTotal {
  requests: number
  tokens: number
  costs: Map<string, number>
}

function sumUsage(sums: readonly UsageSum[]): UsageTotal {
  const costs = new Map<string, number>()
  for (const { currency, costMicros } of sums)
    if (currency && costMicros !== null) costs.set(currency, (costs.get(currency) ?? 0) + costMicros)
  return { requests: sumBy(sums, ({ requests }) => requests), tokens: sumBy(sums, countTokens), costs }
}

/** The usage of a model or a day. */
interface SumGroup {
  key: string
  name: string
  sums: readonly UsageSum[]
}

type ModelNames = ReadonlyMap<string, string>

/** Groups the usage by model, the most used one first. Models that are gone have their ids. */
const groupByModel = (sums: readonly UsageSum[], names: ModelNames): SumGroup[] =>
  [...Map.groupBy(sums, ({ model }) => model)]
    .map(([key, ofModel]) => ({ key, name: names.get(key) ?? key, sums: ofModel }))
    .toSorted((a, b) => sumBy(b.sums, countTokens) - sumBy(a.sums, countTokens))

const groupByDay = (sums: readonly UsageSum[]): SumGroup[] =>
  [...Map.groupBy(sums, ({ day }) => day)].map(([key, ofDay]) => ({ key, name: formatUtcDay(key), sums: ofDay }))

const countTokens = ({ inputTokens, outputTokens }: UsageSum) => inputTokens + outputTokens

const sumBy = (sums: readonly UsageSum[], of: (sum: UsageSum) => number) => sums.reduce((all, sum) => all + of(sum), 0)
