const HEIGHT = 100

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
  return (
    <figure className="day-chart bar-chart">
      <svg
        viewBox={`0 0 ${Math.max(1, bars.length)} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        {bars.map(({ name, value, text }, index) => {
          const height = (value / max) * HEIGHT
          return (
            <rect key={name} x={index + 0.1} y={HEIGHT - height} width={0.8} height={height}>
              <title>{`${name}: ${text}`}</title>
            </rect>
          )
        })}
      </svg>
      <p className="axis">
        <span>{bars[0]?.name}</span>
        <span>{bars.at(-1)?.name}</span>
      </p>
    </figure>
  )
}
