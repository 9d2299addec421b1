import { defineCommand } from 'citty'
import { z } from 'zod'
import type { UsageSum } from '../../entities/ai/usage-report.sql.ts'
import { type GroupedUsage, usageGroupings } from '../../entities/views/usage-by.sql.ts'
import type { CoreService } from '../../server/service.ts'
import { money } from '../amounts.ts'
import { type CommandContext, json } from '../command-context.ts'
import { UsageError } from '../errors.ts'
import { parseFlag } from '../prompts.ts'
import { csvRows, jsonRows } from '../rows.ts'
import { table } from '../table.ts'
import { closeMonth, printBill } from './bill.ts'

type Grouped = Awaited<ReturnType<CoreService['host']['usage']['by']>>

/** The terminal shows at most so many rows of a table. */
const MAX_LINES = 1000

/** What fits most terminals. */
const WIDTH = 100

const none = 'No model was used in this time.'

export const usage = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Report the use of models, in full or by one thing' },
    args: {
      by: { type: 'string', description: `What to sum up by: ${usageGroupings.join(', ')}; groups are those of today` },
      from: { type: 'string', description: 'First day in UTC, as 2026-01-31; 30 days ago when absent' },
      to: { type: 'string', description: 'Last day in UTC; today when absent' },
      month: { type: 'string', description: 'The bill of a month in UTC, as 2026-01, in place of days; needs --by' },
      locale: { type: 'string', description: 'Of the spreadsheet that reads the values of a month, as de_DE' },
      csv: { type: 'boolean', description: 'Print comma separated values; needs --by' },
      json,
    },
    subCommands: { close: closeMonth(context) },
    run({ args: { month, locale, ...report } }) {
      if (month === undefined) return printReport(context, report)
      if (report.from ?? report.to) throw new UsageError('--month leaves no room for --from and --to.')
      return printBill(context, { month, by: report.by, csv: report.csv, locale })
    },
  })

interface ReportFlags {
  by: string | undefined
  from: string | undefined
  to: string | undefined
  csv: boolean | undefined
}

async function printReport(context: CommandContext, { by, from, to, csv }: ReportFlags): Promise<void> {
  const period = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
  if (by !== undefined) {
    const grouping = parseFlag(z.enum(usageGroupings), by, '--by')
    const names = [grouping, ...columns]
    return context.open(async ({ host }) =>
      print(context, await host.usage.by({ by: grouping, ...period }), csv ? names : undefined),
    )
  }
  if (csv) throw new UsageError('--by is missing.')
  const record = await context.open(({ host }) => host.usage.report(period))
  return context.print({ record, text: shown(record) })
}

/** Who or what a row sums up; a model says enough of its provider. */
const shownKeys: readonly string[] = [...usageGroupings, 'username', 'context', 'outcome']

/** What fits a terminal: who or what, and the sums that are asked for most; --json and --csv have all of them. */
const shown = (rows: readonly UsageSum[]) =>
  table(
    rows.map((row) => {
      const { requests, inputTokens: input, outputTokens: output, costMicros, currency } = row
      const keys = Object.entries(row).filter(
        ([name]) => shownKeys.includes(name) && !(name === 'provider' && 'model' in row),
      )
      return { ...Object.fromEntries(keys), requests, input, output, cost: money(costMicros, currency) }
    }),
    none,
    { width: WIDTH, cuttable: shownKeys },
  )

const columns: readonly (keyof UsageSum)[] = [
  'requests',
  'estimated',
  'inputTokens',
  'outputTokens',
  'cachedTokens',
  'cacheWriteTokens',
  'reasoningTokens',
  'webSearches',
  'webFetches',
  'costMicros',
  'currency',
  'unpriced',
]

async function print(context: CommandContext, batches: Grouped, names: readonly string[] | undefined): Promise<void> {
  if (names) return context.write(csvRows(batches, names))
  if (context.json) return context.write(jsonRows(batches))
  const rows: GroupedUsage[] = []
  for await (const batch of batches) {
    rows.push(...batch.slice(0, MAX_LINES + 1 - rows.length))
    if (rows.length > MAX_LINES) break
  }
  const text = shown(rows.slice(0, MAX_LINES))
  const more = rows.length > MAX_LINES ? `\nThere are more rows: --csv prints all of them.` : ''
  return context.print({ record: rows, text: `${text}${more}` })
}
