import type { ReactNode } from 'react'
import { t } from '../text/labels.ts'
import styles from './day-chart.module.css'

/** The height of a chart in the units of its bars. A day is one unit wide. */
export const CHART_HEIGHT = 100

interface ChartBar {
  key: string
  title: string
  x: number
  y: number
  height: number
  className?: string | undefined
}

interface DayChartProps {
  /** The description for screen readers. */
  label: string
  width: number
  /** The value of a bar of the full height, with its unit. */
  highest: string
  bars: readonly ChartBar[]
  first: string | undefined
  last: string | undefined
  /** A legend. */
  children?: ReactNode
}

/** Bars by day or hour above an axis that names the first and the last one. */
export const DayChart = ({ label, width, highest, bars, first, last, children }: DayChartProps) => (
  <figure className={styles.chart}>
    <p className={styles.scale}>{t('app.chart.highest', { amount: highest })}</p>
    <svg viewBox={`0 0 ${width} ${CHART_HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {bars.map(({ key, title, ...bar }) => (
        <rect key={key} width={0.8} {...bar}>
          <title>{title}</title>
        </rect>
      ))}
    </svg>
    <p className={styles.axis}>
      <span>{first}</span>
      <span>{last}</span>
    </p>
    {children}
  </figure>
)
