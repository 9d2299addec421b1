import { CHART_HEIGHT, DayChart } from '../shared/ui/day-chart.tsx'

interface Bar {
  name: string
  value: number
  /** The caption. */
  text: string
}

interface BarChartProps {
  bars: readonly Bar[]
  /** The description for screen readers. */
  label: string
}

/** A bar for each day or hour. */
export function BarChart({ bars, label }: BarChartProps) {
  const max = Math.max(1, ...bars.map(({ value }) => value))
  const highest = bars.find(({ value }) => value === max) ?? bars[0]
  return (
    <DayChart
      label={label}
      width={Math.max(1, bars.length)}
      highest={highest?.text ?? ''}
      bars={bars.map(({ name, value, text }, index) => {
        const height = (value / max) * CHART_HEIGHT
        return { key: name, title: `${name}: ${text}`, x: index + 0.1, y: CHART_HEIGHT - height, height }
      })}
      first={bars[0]?.name}
      last={bars.at(-1)?.name}
    />
  )
}
