import { useQuery } from '@tanstack/react-query'
import { api } from '../shared/api/client.ts'
import { WARN_SHARE } from '../shared/limit-share.ts'
import { formatDateTime, formatLimitAmount, formatMoney, formatNumber, formatUtcDay } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { SettingsSection } from './settings-form.tsx'

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
  const { data: sums, error } = useQuery({
    queryKey: ['usage'],
    queryFn: ({ signal }) => api.usage.summary.query({}, { signal }),
  })
  if (error) return <ErrorMessage error={error} />
  if (!sums) return <div className="settings-waiting" aria-busy="true" />
  if (sums.length === 0) return <p>{t('app.settings.usageNone')}</p>
  const total = sumUsage(sums)
  return (
    <>
      <UsageChart
        sums={sums}
        days={REPORT_DAYS}
        label={t('app.settings.usageChart', { tokens: formatNumber(total.tokens) })}
      />
      <SumTable head={t('app.settings.usageModel')} rows={groupByModel(sums)} total={total} />
      {listRemarks(sums).map((remark) => (
        <p key={remark} className="hint">
          {remark}
        </p>
      ))}
      <details>
        <summary>{t('app.settings.usageByDay')}</summary>
        <SumTable head={t('app.settings.usageDay')} rows={[...Map.groupBy(sums, ({ day }) => formatUtcDay(day))]} />
      </details>
    </>
  )
}

interface SumTableProps {
  head: string
  rows: readonly (readonly [name: string, sums: readonly UsageSum[]])[]
  total?: UsageTotal
}

const SumTable = ({ head, rows, total }: SumTableProps) => (
  <table>
    <thead>
      <tr>
        <th scope="col">{head}</th>
        <th scope="col">{t('app.settings.usageRequests')}</th>
        <th scope="col">{t('app.settings.usageTokens')}</th>
        <th scope="col">{t('app.settings.usageCost')}</th>
      </tr>
    </thead>
    <tbody>
      {rows.map(([name, sums]) => (
        <SumRow key={name} name={name} {...sumUsage(sums)} />
      ))}
    </tbody>
    {total && (
      <tfoot>
        <SumRow name={t('app.settings.usageTotal')} {...total} />
      </tfoot>
    )}
  </table>
)

const SumRow = ({ name, requests, tokens, costs }: UsageTotal & { name: string }) => (
  <tr>
    <td>{name}</td>
    <td>{formatNumber(requests)}</td>
    <td>{formatNumber(tokens)}</td>
    <td>{[...costs].map(([currency, micros]) => formatMoney(micros, currency)).join(' + ') || '–'}</td>
  </tr>
)

/** Lists how many calls have no price, and how many are estimates. */
function listRemarks(sums: readonly UsageSum[]): string[] {
  const [estimated, unpriced] = [sumBy(sums, (sum) => sum.estimated), sumBy(sums, (sum) => sum.unpriced)]
  return [
    ...(estimated > 0 ? [t('app.settings.usageEstimated', { count: estimated })] : []),
    ...(unpriced > 0 ? [t('app.settings.usageUnpriced', { count: unpriced })] : []),
  ]
}

/** The number of models with a color of their own; the others share one. */
const SERIES = 5
const HEIGHT = 100
const DAY_MS = 86_400_000

interface UsageChartProps {
  sums: readonly UsageSum[]
  days: number
  /** The description for screen readers. */
  label: string
}

/** A bar of tokens for each day, stacked by model, with a legend. */
function UsageChart({ sums, days, label }: UsageChartProps) {
  const axis = listLastDays(days)
  const series = assignSeries(sums)
  const [first, last] = [axis[0], axis.at(-1)]
  return (
    <figure className="day-chart usage-chart">
      <svg viewBox={`0 0 ${days} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {buildBars(sums, axis, series).map(({ key, title, ...bar }) => (
          <rect key={key} {...bar}>
            <title>{title}</title>
          </rect>
        ))}
      </svg>
      <p className="axis">
        <span>{first && formatUtcDay(first)}</span>
        <span>{last && formatUtcDay(last)}</span>
      </p>
      <figcaption>
        {[...new Set(series.values())].map(({ name, className }) => (
          <span key={className}>
            <i className={className} />
            {name}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

interface Series {
  name: string
  className: string
}

/** Assigns a series to each model, the most used models first. */
function assignSeries(sums: readonly UsageSum[]): Map<string, Series> {
  const rest = { name: t('app.settings.usageOthers'), className: `series-${SERIES}` }
  return new Map(
    groupByModel(sums).map(([model], index) => [
      model,
      index < SERIES ? { name: model, className: `series-${index}` } : rest,
    ]),
  )
}

/** Lists the last days in UTC, in which the service counts them. */
const listLastDays = (days: number) =>
  Array.from({ length: days }, (_, index) =>
    new Date(Date.now() - (days - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  )

function buildBars(sums: readonly UsageSum[], axis: readonly string[], series: ReadonlyMap<string, Series>) {
  const byDay = Map.groupBy(sums, ({ day }) => day)
  const max = Math.max(1, ...[...byDay.values()].map((sums) => sumBy(sums, countTokens)))
  return axis.flatMap((day, index) => {
    let top = HEIGHT
    return [...Map.groupBy(byDay.get(day) ?? [], ({ model }) => series.get(model))].map(([part, partSums]) => {
      const tokens = sumBy(partSums, countTokens)
      const height = (tokens / max) * HEIGHT
      top -= height
      return {
        key: `${day} ${part?.className}`,
        title: `${formatUtcDay(day)}, ${part?.name}: ${formatNumber(tokens)}`,
        x: index + 0.1,
        y: top,
        width: 0.8,
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

/** Groups the usage by model, the most used one first. */
const groupByModel = (sums: readonly UsageSum[]): [model: string, sums: UsageSum[]][] =>
  [...Map.groupBy(sums, ({ model }) => model)].toSorted(([, a], [, b]) => sumBy(b, countTokens) - sumBy(a, countTokens))

const countTokens = ({ inputTokens, outputTokens }: UsageSum) => inputTokens + outputTokens

const sumBy = (sums: readonly UsageSum[], of: (sum: UsageSum) => number) => sums.reduce((all, sum) => all + of(sum), 0)

type Limit = Awaited<ReturnType<typeof api.usage.limits.query>>[number]

/** The usage of each limit; hidden if there are no limits. */
function LimitMeters() {
  const { data = [], error } = useQuery({
    queryKey: ['limits'],
    queryFn: ({ signal }) => api.usage.limits.query(undefined, { signal }),
  })
  if (data.length === 0 && !error) return null
  return (
    <SettingsSection title={t('app.settings.limitsTitle')}>
      <ErrorMessage error={error} />
      <ul className="limits" aria-label={t('app.settings.limitsTitle')}>
        {data.map((limit) => (
          <LimitMeter key={`${limit.name} ${limit.subject} ${limit.subjectId}`} limit={limit} />
        ))}
      </ul>
    </SettingsSection>
  )
}

function LimitMeter({ limit }: { limit: Limit }) {
  const { cap, used, held } = limit
  const name = [limit.name, getSubjectName(limit)].filter(Boolean).join(' · ')
  return (
    <li>
      <strong>{name}</strong>
      <meter
        aria-label={name}
        min={0}
        max={Math.max(1, cap)}
        low={WARN_SHARE * cap}
        high={cap - 0.5}
        optimum={0}
        value={used + held}
      />
      <p className="hint">{describeLimit(limit)}</p>
    </li>
  )
}

/** Returns the name that distinguishes limits of a kind. The ids of people, tokens and apps are no names. */
const getSubjectName = ({ subject, subjectId, roomName }: Limit) => (namedSubjects.has(subject) ? subjectId : roomName)

const namedSubjects = new Set<string>(['provider', 'model', 'group'])

const unitLabels = { requests: 'app.settings.limitRequests', tokens: 'app.settings.limitTokens' } as const

function describeLimit(limit: Limit): string {
  const { unit, mode, cap, used, held, remaining, resetsAt } = limit
  const formatAmount = (amount: number) => formatLimitAmount(limit, amount)
  const whole = unit === 'money' ? formatAmount(cap) : t(unitLabels[unit], { count: cap })
  return [
    t('app.settings.limitUsed', { used: formatAmount(used), cap: whole }),
    held > 0 && t('app.settings.limitHeld', { held: formatAmount(held) }),
    t('app.settings.limitLeft', { left: formatAmount(remaining) }),
    t('app.settings.limitResets', { at: formatDateTime(resetsAt) }),
    mode === 'observe' && t('app.settings.limitObserved'),
  ]
    .filter(Boolean)
    .join(' · ')
}
