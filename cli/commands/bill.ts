import { defineCommand } from 'citty'
import { z } from 'zod'
import { billGroupings } from '../../entities/ai/usage-closing.ts'
import type { CoreService } from '../../server/service.ts'
import { inCurrency, money } from '../amounts.ts'
import { type CommandContext, json } from '../command-context.ts'
import { parseFlag } from '../prompts.ts'
import { chooseCsvForm, csvRows, jsonRows } from '../rows.ts'
import { table } from '../table.ts'

type Bill = Awaited<ReturnType<CoreService['host']['usage']['bill']>>

const localeName = z.string().regex(/^[a-z]{2}([_-][A-Z]{2})?$/, 'must be a locale such as de_DE')

interface BillFlags {
  month: string
  by: string | undefined
  csv: boolean | undefined
  locale: string | undefined
}

const PAGE = 1000

/** Prints what a month costs by one thing: as it was when the month was closed, or as it is until then. */
export function printBill(context: CommandContext, { month, by, csv, locale = 'en_US' }: BillFlags): Promise<void> {
  const grouping = parseFlag(z.enum(billGroupings), by ?? '', '--by')
  const form = chooseCsvForm(parseFlag(localeName, locale, '--locale'))
  return context.open(async ({ host }) => {
    const read = (page: number) => host.usage.bill({ month, by: grouping, page, size: PAGE })
    const first = await read(1)
    const batches = readRows(first, read)
    if (csv) return context.write(csvRows(batches, columns, form))
    if (context.json) return context.write(jsonRows(batches))
    const state = first.closedAt ? `Closed at ${first.closedAt}.` : 'Not closed: the sums may still change.'
    const more = first.hasMore ? ['There are more rows: --csv prints all of them.'] : []
    const text = [table(first.rows.map(toLine), 'No model was used in this month.'), ...more, state].join('\n')
    return context.print({ record: first, text })
  })
}

type Row = Bill['rows'][number]

const columns = ['name', 'requests', 'inputTokens', 'outputTokens', 'cost', 'currency', 'estimated', 'unpriced']

const toLine = ({ name, requests, inputTokens: input, outputTokens: output, costMicros, currency }: Row) => ({
  ...{ name, requests, input, output },
  cost: money(costMicros, currency),
})

/** With the cost in the currency, in which bills are written. */
const toRow = ({ costMicros, ...row }: Row) => ({
  ...row,
  cost: costMicros === null ? null : Number(inCurrency(costMicros)),
})

async function* readRows(first: Bill, read: (page: number) => Promise<Bill>) {
  yield first.rows.map(toRow)
  let { hasMore } = first
  for (let page = 2; hasMore; page++) {
    const next = await read(page)
    yield next.rows.map(toRow)
    hasMore = next.hasMore
  }
}

export const closeMonth = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Keep the sums of a month as they are now; what is recorded later counts in the next one' },
    args: { month: { type: 'positional', description: 'The month in UTC, as 2026-01', required: true }, json },
    async run({ args: { month } }) {
      const record = await context.open(({ host }) => host.usage.close({ month }))
      context.print({ record, text: `${record.month} is closed.` })
    },
  })
