import type { Translate } from '../errors.ts'
import { element, fill } from '../form.ts'
import { writtenDay, writtenMoney, writtenNumber } from '../moments.ts'
import { ask } from '../server.ts'
import { usageChart } from './usage-chart.ts'
import { add, byModel, type Sum, type Total, total } from './usage-sums.ts'

/** What the server sums up, where nobody says otherwise, and today. */
const DAYS = 31

/** Shows the person's AI usage of the last thirty days: a chart, sums by model, and sums by day. */
export const showUsage = (translate: Translate) => fill(translate, 'usage', () => show(translate))

async function show(translate: Translate): Promise<void> {
  const { result } = await ask<{ result: { data: Sum[] } }>('GET', '/trpc/usage.summary')
  const sums = result.data
  const place = element('usage')
  if (sums.length === 0) {
    place.textContent = translate('page.profile.usageNone')
    return
  }
  const all = total(sums)
  const label = translate('page.profile.usageChart').replace(':tokens', writtenNumber(all.tokens))
  place.replaceChildren(
    usageChart(sums, DAYS, { label, others: translate('page.profile.usageOthers') }),
    sumTable(translate, {
      head: translate('page.profile.usageModel'),
      rows: byModel(sums),
      all,
    }),
    ...remarks(translate, sums),
    dayByDay(translate, sums),
  )
}

interface SumTable {
  head: string
  rows: [name: string, sums: Sum[]][]
  all?: Total
}

function sumTable(translate: Translate, { head, rows, all }: SumTable): HTMLTableElement {
  const table = document.createElement('table')
  const names = ['page.profile.usageRequests', 'page.profile.usageTokens', 'page.profile.usageCost'].map(translate)
  table.createTHead().append(rowOf('th', [head, ...names]))
  const body = table.createTBody()
  for (const [name, sums] of rows) body.append(rowOf('td', [name, ...cellsOf(total(sums))]))
  if (all) table.createTFoot().append(rowOf('td', [translate('page.profile.usageTotal'), ...cellsOf(all)]))
  return table
}

const cellsOf = ({ requests, tokens, costs }: Total) => [
  writtenNumber(requests),
  writtenNumber(tokens),
  [...costs].map(([currency, micros]) => writtenMoney(micros, currency)).join(' + ') || '–',
]

/** What the sums lack, or have by our own count. */
function remarks(translate: Translate, sums: readonly Sum[]): HTMLElement[] {
  const counts: [string, number][] = [
    ['page.profile.usageEstimated', add(sums, ({ estimated }) => estimated)],
    ['page.profile.usageUnpriced', add(sums, ({ unpriced }) => unpriced)],
  ]
  return counts
    .filter(([, count]) => count > 0)
    .map(([key, count]) => {
      const line = Object.assign(document.createElement('p'), { className: 'hint' })
      line.textContent = translate(key).replace(':count', writtenNumber(count))
      return line
    })
}

function dayByDay(translate: Translate, sums: readonly Sum[]): HTMLElement {
  const details = document.createElement('details')
  const summary = Object.assign(document.createElement('summary'), {
    textContent: translate('page.profile.usageByDay'),
  })
  const rows = [...Map.groupBy(sums, ({ day }) => writtenDay(day))]
  details.append(summary, sumTable(translate, { head: translate('page.profile.usageDay'), rows }))
  return details
}

function rowOf(kind: 'th' | 'td', cells: readonly string[]): HTMLTableRowElement {
  const row = document.createElement('tr')
  for (const text of cells) row.append(Object.assign(document.createElement(kind), { textContent: text }))
  return row
}
