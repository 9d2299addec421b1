import { numberText } from '../shared/text/amounts.ts'
import { t } from '../shared/text/labels.ts'
import { calendarDayText } from '../shared/text/moments.ts'
import { add, groupByModel, type Sum, tokensOf } from './usage-sums.ts'

/** Models with a colour of their own; the others share one. */
const SERIES = 5
const HEIGHT = 100
const DAY_MS = 86_400_000

interface UsageChartProps {
  sums: readonly Sum[]
  days: number
  /** What it shows, for those who do not see it. */
  label: string
}

/** A bar of tokens for each day, divided by model, and the names of the models below. */
export function UsageChart({ sums, days, label }: UsageChartProps) {
  const axis = lastDays(days)
  const series = seriesOf(sums)
  const [first, last] = [axis[0], axis.at(-1)]
  return (
    <figure className="usage-chart">
      <svg viewBox={`0 0 ${days} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        {barsOf(sums, axis, series).map(({ key, title, ...bar }) => (
          <rect key={key} {...bar}>
            <title>{title}</title>
          </rect>
        ))}
      </svg>
      <p className="axis">
        <span>{first && calendarDayText(first)}</span>
        <span>{last && calendarDayText(last)}</span>
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

/** The series of each model; the most used ones come first. */
function seriesOf(sums: readonly Sum[]): Map<string, Series> {
  const rest = { name: t('app.settings.usageOthers'), className: `series-${SERIES}` }
  return new Map(
    groupByModel(sums).map(([model], index) => [
      model,
      index < SERIES ? { name: model, className: `series-${index}` } : rest,
    ]),
  )
}

/** Days in UTC, as the service counts them, up to today. */
const lastDays = (days: number) =>
  Array.from({ length: days }, (_, index) =>
    new Date(Date.now() - (days - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  )

function barsOf(sums: readonly Sum[], axis: readonly string[], series: ReadonlyMap<string, Series>) {
  const byDay = Map.groupBy(sums, ({ day }) => day)
  const most = Math.max(1, ...[...byDay.values()].map((own) => add(own, tokensOf)))
  return axis.flatMap((day, index) => {
    let top = HEIGHT
    return [...Map.groupBy(byDay.get(day) ?? [], ({ model }) => series.get(model))].map(([part, own]) => {
      const tokens = add(own, tokensOf)
      const height = (tokens / most) * HEIGHT
      top -= height
      return {
        key: `${day} ${part?.className}`,
        title: `${calendarDayText(day)}, ${part?.name}: ${numberText(tokens)}`,
        ...{ x: index + 0.1, y: top, width: 0.8, height, className: part?.className },
      }
    })
  })
}
