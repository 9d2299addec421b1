import type { Translate } from './errors.ts'
import { element, fill } from './form.ts'
import { writtenDay, writtenNumber } from './moments.ts'
import { ask } from './server.ts'

interface Sum {
  day: string
  requests: number
  inputTokens: number
  outputTokens: number
}

/** Shows the person's AI usage of the last thirty days as a table with bars. */
export const showUsage = (translate: Translate) => fill(translate, 'usage', () => show(translate))

async function show(translate: Translate): Promise<void> {
  const { result } = await ask<{ result: { data: Sum[] } }>('GET', '/trpc/usage.summary')
  const days = byDay(result.data)
  const place = element('usage')
  if (days.length === 0) {
    place.textContent = translate('page.profile.usageNone')
    return
  }
  const most = Math.max(...days.map(({ requests }) => requests))
  const table = document.createElement('table')
  const heads = rowOf(
    'th',
    ['page.profile.usageDay', 'page.profile.usageRequests', 'page.profile.usageTokens'].map(translate),
  )
  // The cell before the bar has the number.
  if (heads.cells[1]) heads.cells[1].colSpan = 2
  table.append(heads)
  for (const { day, requests, tokens } of days) {
    const meter = document.createElement('meter')
    Object.assign(meter, { min: 0, max: most, value: requests })
    meter.setAttribute('aria-label', `${writtenDay(day)}: ${writtenNumber(requests)}`)
    table.append(rowOf('td', [writtenDay(day), writtenNumber(requests), meter, writtenNumber(tokens)]))
  }
  place.replaceChildren(table)
}

function byDay(sums: readonly Sum[]) {
  const days = new Map<string, { day: string; requests: number; tokens: number }>()
  for (const { day, requests, inputTokens, outputTokens } of sums) {
    const sum = days.get(day) ?? { day, requests: 0, tokens: 0 }
    sum.requests += requests
    sum.tokens += inputTokens + outputTokens
    days.set(day, sum)
  }
  return [...days.values()]
}

function rowOf(kind: 'th' | 'td', cells: readonly (string | HTMLElement)[]): HTMLTableRowElement {
  const row = document.createElement('tr')
  for (const cell of cells) {
    const element = document.createElement(kind)
    element.append(cell)
    row.append(element)
  }
  return row
}
