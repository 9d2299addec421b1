import { defineCommand } from 'citty'
import { z } from 'zod'
import { billGroupings } from '../../entities/ai/usage-closing.ts'
import { usageCounts } from '../../entities/ai/usage-record.ts'
import type { UsageSum } from '../../entities/ai/usage-report.sql.ts'
import { type GroupedUsage, usageGroupings } from '../../entities/views/usage-by.sql.ts'
import { formatMicros, formatMoney } from '../../routers/ports/ai/amounts.ts'
import { day, monthName } from '../../routers/ports/days.ts'
import type { CoreService } from '../../server/core.ts'
import { type CommandContext, json } from '../command-context.ts'
import { UsageError } from '../errors.ts'
import { parseFlag, parseOptionalFlag } from '../flag-values.ts'
import { chooseCsvForm, formatTable, writeCsvRows, writeJsonRows } from '../output.ts'

/** Maximum number of rows in the terminal. */
const MAX_LINES = 1000

const none = 'No model was used in this time.'

export const usageCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Report the use of models, in full or by one criterion.' },
    args: {
      by: {
        type: 'string',
        description: `The criterion to group by: ${usageGroupings.join(', ')}. Groups are the current ones.`,
      },
      from: { type: 'string', description: 'The first day in UTC, such as 2026-01-31; 30 days ago if absent.' },
      to: { type: 'string', description: 'The last day in UTC; today if absent.' },
      month: {
        type: 'string',
        description: 'The month of a bill in UTC, such as 2026-01, instead of days. It needs --by.',
      },
      locale: {
        type: 'string',
        description: 'The locale of the spreadsheet that reads the values of a month, such as de_DE.',
      },
      csv: { type: 'boolean', description: 'Print comma-separated values. It needs --by.' },
      json,
    },
    subCommands: { close: closeMonthCommand(context), tools: toolsCommand(context) },
    run({ args: { month, locale, ...report } }) {
      return month === undefined ? printReport(context, report) : printBill(context, { month, locale, ...report })
    },
  })

const toolsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Report the calls of tools by tool, surface and outcome.' },
    args: {
      from: { type: 'string', description: 'The first day in UTC, such as 2026-01-31; 30 days ago if absent.' },
      to: { type: 'string', description: 'The last day in UTC; today if absent.' },
      json,
    },
    async run({ args: { from, to } }) {
      const days = await context.prompts.readAll({
        from: () => parseOptionalFlag('from', day, from, '--from'),
        to: () => parseOptionalFlag('to', day, to, '--to'),
      })
      const record = await context.open(({ host }) => host.usage.tools({ ...days.from, ...days.to }))
      const rows = record.map(({ server, ...sum }) => ({ server: server ?? '-', ...sum }))
      context.print({ record, text: formatTable(rows, 'No tool was called in this time.') })
    },
  })

interface ReportFlags {
  by: string | undefined
  from: string | undefined
  to: string | undefined
  csv: boolean | undefined
}

async function printReport(context: CommandContext, { by, from, to, csv }: ReportFlags): Promise<void> {
  const flags = await context.prompts.readAll({
    by: () => parseOptionalFlag('by', z.enum(usageGroupings), by, '--by'),
    from: () => parseOptionalFlag('from', day, from, '--from'),
    to: () => parseOptionalFlag('to', day, to, '--to'),
    csv: () => assertGrouped(csv, by),
  })
  const period = { ...flags.from, ...flags.to }
  const { by: grouping } = flags.by
  if (grouping !== undefined) {
    const names = [grouping, ...sumColumns]
    return context.open(async ({ host }) =>
      printGrouped(context, await host.usage.by({ by: grouping, ...period }), csv ? names : undefined),
    )
  }
  const record = await context.open(({ host }) => host.usage.report(period))
  return context.print({ record, text: formatUsage(record, context.width) })
}

function assertGrouped(csv: boolean | undefined, by: string | undefined): void {
  if (csv && by === undefined) throw new UsageError('--by is missing.')
}

type GroupedReport = Awaited<ReturnType<CoreService['host']['usage']['by']>>

async function printGrouped(
  context: CommandContext,
  batches: GroupedReport,
  names: readonly string[] | undefined,
): Promise<void> {
  if (names) return context.write(writeCsvRows(batches, names))
  if (context.isJson) return context.write(writeJsonRows(batches))
  const rows: GroupedUsage[] = []
  for await (const batch of batches) {
    rows.push(...batch.slice(0, MAX_LINES + 1 - rows.length))
    if (rows.length > MAX_LINES) break
  }
  const text = formatUsage(rows.slice(0, MAX_LINES), context.width)
  const more = rows.length > MAX_LINES ? `\nThere are more rows: --csv prints all of them.` : ''
  return context.print({ record: rows, text: `${text}${more}` })
}

/** Columns that identify a row. The provider is omitted if there is a model. */
const keyColumns: readonly string[] = [...usageGroupings, 'username', 'context', 'outcome']

const sumColumns: readonly (keyof UsageSum)[] = [
  'requests',
  'estimated',
  ...usageCounts,
  'costMicros',
  'currency',
  'unpriced',
]

/** Formats the main columns for a terminal; --json and --csv have all of them. */
const formatUsage = (rows: readonly UsageSum[], width: number) =>
  formatTable(
    rows.map((row) => {
      const { requests, inputTokens: input, outputTokens: output, costMicros, currency } = row
      const keys = Object.entries(row).filter(
        ([name]) => keyColumns.includes(name) && !(name === 'provider' && 'model' in row),
      )
      return { ...Object.fromEntries(keys), requests, input, output, cost: formatMoney(costMicros, currency) }
    }),
    none,
    { width, cuttable: keyColumns },
  )

const localeName = z.string().regex(/^[a-z]{2}([_-][A-Z]{2})?$/, 'must be a locale such as de_DE')

interface BillFlags extends ReportFlags {
  month: string
  locale: string | undefined
}

const PAGE = 1000

type Bill = Awaited<ReturnType<CoreService['host']['usage']['bill']>>

type BillRow = Bill['rows'][number]

/** Prints the costs of a month in groups, as they were when the month was closed, or as they are now. */
async function printBill(context: CommandContext, flags: BillFlags): Promise<void> {
  const { by, csv } = flags
  const { grouping, month, locale } = await context.prompts.readAll({
    days: () => rejectDays(flags),
    month: () => parseFlag(monthName, flags.month, '--month'),
    grouping: () => parseFlag(z.enum(billGroupings), by ?? '', '--by'),
    locale: () => parseFlag(localeName, flags.locale ?? 'en_US', '--locale'),
  })
  const form = chooseCsvForm(locale)
  return context.open(async ({ host }) => {
    const read = (page: number) => host.usage.bill({ month, by: grouping, page, size: PAGE })
    const first = await read(1)
    const batches = readBillRows(first, read)
    if (csv) return context.write(writeCsvRows(batches, billColumns, form))
    if (context.isJson) return context.write(writeJsonRows(batches))
    const state = first.closedAt ? `Closed at ${first.closedAt}.` : 'Not closed: the sums may still change.'
    const more = first.hasMore ? ['There are more rows: --csv prints all of them.'] : []
    const text = [formatTable(first.rows.map(toBillLine), 'No model was used in this month.'), ...more, state].join(
      '\n',
    )
    return context.print({ record: first, text })
  })
}

function rejectDays({ from, to }: ReportFlags): void {
  if (from ?? to) throw new UsageError('--month leaves no room for --from and --to.')
}

const billColumns = ['name', 'requests', 'inputTokens', 'outputTokens', 'cost', 'currency', 'estimated', 'unpriced']

const toBillLine = ({ name, requests, inputTokens: input, outputTokens: output, costMicros, currency }: BillRow) => ({
  name,
  requests,
  input,
  output,
  cost: formatMoney(costMicros, currency),
})

/** Converts the cost to currency units, as bills have them. */
const toBillRow = ({ costMicros, ...row }: BillRow) => ({
  ...row,
  cost: costMicros === null ? null : Number(formatMicros(costMicros)),
})

async function* readBillRows(first: Bill, read: (page: number) => Promise<Bill>) {
  yield first.rows.map(toBillRow)
  let { hasMore } = first
  for (let page = 2; hasMore; page++) {
    const next = await read(page)
    yield next.rows.map(toBillRow)
    hasMore = next.hasMore
  }
}

const closeMonthCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Keep the current sums of a month. Calls that are recorded later count in the next month.' },
    args: { month: { type: 'positional', description: 'The month in UTC, such as 2026-01.', required: true }, json },
    async run({ args: { month } }) {
      const record = await context.open(({ host }) => host.usage.close({ month }))
      context.print({ record, text: `${record.month} is closed.` })
    },
  })
