import { defineCommand } from 'citty'
import type { Refusals } from '../../routers/ai/limits/simulated-limit.ts'
import { limitsConfig } from '../../routers/ports/ai/limits-config.ts'
import { readConfigFile } from '../../server/config/config-file.ts'
import { readEnv } from '../../server/config/env.ts'
import type { CoreService } from '../../server/service.ts'
import { readable } from '../amounts.ts'
import { type CommandContext, json } from '../command-context.ts'
import { csvRows, jsonRows } from '../rows.ts'
import { table } from '../table.ts'

type Simulated = Awaited<ReturnType<CoreService['host']['limits']['simulate']>>

/** What a table of the terminal shows at most. */
const MAX_LINES = 1000

const APPROXIMATIONS = `A call is counted when it began, by what it took in the end: a limit in tokens or money holds more while the call is
under way, and may refuse more. Calls that were refused then are not recorded. Roles and groups are those of today; calls
of people and tokens that were removed count for nobody's own limit. What was topped up is not counted.`

export const simulate = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Tell what limits would have refused of the calls that are recorded, and change nothing' },
    args: {
      file: { type: 'string', description: 'Limits as LIMITS has them, YAML or JSON; those in force when absent' },
      from: { type: 'string', description: 'First day in UTC, as 2026-01-31; 30 days ago when absent' },
      to: { type: 'string', description: 'Last day in UTC; today when absent' },
      csv: { type: 'boolean', description: 'Print comma separated values' },
      json,
    },
    async run({ args: { file, from, to, csv } }) {
      const config = file !== undefined && {
        config: await readConfigFile(file, limitsConfig, readEnv(context.env).variables),
      }
      const days = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
      return context.open(async ({ host }) => print(context, await host.limits.simulate({ ...days, ...config }), csv))
    },
  })

const names = [
  ...['limit', 'mode', 'subject', 'subjectId', 'username', 'from', 'unit', 'currency', 'cap'],
  ...['calls', 'refused', 'refusedAmount', 'used'],
]

async function print(
  context: CommandContext,
  { refusals, totals, leftOut, ofNobody }: Simulated,
  csv = false,
): Promise<void> {
  if (csv) return context.write(csvRows(refusals, names))
  if (context.json) return context.write(jsonRows(refusals))
  const rows: Refusals[] = []
  let count = 0
  for await (const batch of refusals) {
    count += batch.length
    rows.push(...batch.slice(0, MAX_LINES - rows.length))
  }
  const text = [
    table(
      rows.map((row) => readable(row, ['cap', 'refusedAmount', 'used'])),
      'Nothing would have been refused.',
    ),
    ...(count > rows.length ? [`There are ${count - rows.length} more rows: --csv prints all of them.`] : []),
    `Calls: ${totals.calls}, of which limits that are enforced would have refused ${totals.refused}.`,
    ...(leftOut > 0 ? [`Left out: ${leftOut} calls that are kept as sums of a day only.`] : []),
    ...(ofNobody.length > 0 ? [`For people or apps that are not there yet: ${ofNobody.join(', ')}.`] : []),
    APPROXIMATIONS,
  ]
  return context.print({ record: rows, text: text.join('\n') })
}
