import { writtenDay, writtenNumber } from '../moments.ts'
import { add, byModel, type Sum, tokensOf } from './usage-sums.ts'

/** Models with a colour of their own; the others share one. */
const SERIES = 5
const SVG = 'http://www.w3.org/2000/svg'
const HEIGHT = 100
const DAY_MS = 86_400_000

interface ChartWords {
  /** What the chart shows, for those who do not see it. */
  label: string
  others: string
}

/** Draws a bar of tokens for each day, divided by model, and names the models below. */
export function usageChart(sums: readonly Sum[], days: number, { label, others }: ChartWords): HTMLElement {
  const series = seriesOf(sums, others)
  const figure = document.createElement('figure')
  const axis = lastDays(days)
  figure.append(drawing(sums, { axis, series, label }), axisOf(axis), legend([...new Set(series.values())]))
  return figure
}

interface Series {
  name: string
  className: string
}

/** The series of each model; the most used ones come first. */
function seriesOf(sums: readonly Sum[], others: string): Map<string, Series> {
  const rest = { name: others, className: `series-${SERIES}` }
  return new Map(
    byModel(sums).map(([model], index) => [
      model,
      index < SERIES ? { name: model, className: `series-${index}` } : rest,
    ]),
  )
}

/** Days in UTC, as the server counts them, up to today. */
const lastDays = (days: number) =>
  Array.from({ length: days }, (_, index) =>
    new Date(Date.now() - (days - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  )

interface Drawing {
  axis: readonly string[]
  series: ReadonlyMap<string, Series>
  label: string
}

function drawing(sums: readonly Sum[], { axis, series, label }: Drawing): SVGElement {
  const svg = shape('svg', { viewBox: `0 0 ${axis.length} ${HEIGHT}`, preserveAspectRatio: 'none', role: 'img' })
  svg.setAttribute('aria-label', label)
  const byDay = Map.groupBy(sums, ({ day }) => day)
  const most = Math.max(1, ...[...byDay.values()].map((own) => add(own, tokensOf)))
  for (const [index, day] of axis.entries()) {
    let top = HEIGHT
    for (const [part, own] of Map.groupBy(byDay.get(day) ?? [], ({ model }) => series.get(model))) {
      const tokens = add(own, tokensOf)
      const height = (tokens / most) * HEIGHT
      top -= height
      svg.append(bar({ x: index, y: top, height }, part, `${writtenDay(day)}, ${part?.name}: ${writtenNumber(tokens)}`))
    }
  }
  return svg
}

function bar({ x, y, height }: { x: number; y: number; height: number }, series: Series | undefined, told: string) {
  const rectangle = shape('rect', { x: x + 0.1, y, width: 0.8, height, class: series?.className ?? '' })
  const title = shape('title', {})
  title.textContent = told
  rectangle.append(title)
  return rectangle
}

function shape(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name) as SVGElement
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, String(value))
  return element
}

function axisOf(axis: readonly string[]): HTMLElement {
  const line = document.createElement('p')
  line.className = 'axis'
  for (const day of [axis[0], axis.at(-1)])
    line.append(Object.assign(document.createElement('span'), { textContent: day ? writtenDay(day) : '' }))
  return line
}

function legend(series: readonly Series[]): HTMLElement {
  const list = document.createElement('figcaption')
  for (const { name, className } of series) {
    const entry = Object.assign(document.createElement('span'), { textContent: name })
    const swatch = document.createElement('i')
    swatch.className = className
    entry.prepend(swatch)
    list.append(entry)
  }
  return list
}
