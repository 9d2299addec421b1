import { defineCommand } from 'citty'
import type { z } from 'zod'
import type { Refusals } from '../../routers/ai/limits/limit-simulation.ts'
import { type limitEntry, limitsConfig } from '../../routers/ports/ai/limits-config.ts'
import { readConfigFile } from '../../server/config/config-file.ts'
import { readEnv } from '../../server/config/env.ts'
import type { CoreService } from '../../server/service.ts'
import { type CommandContext, json } from '../command-context.ts'
import { parseFlag, parseOptionalFlag, typedNumber } from '../flag-values.ts'
import { formatAmount, formatMoneyMembers, formatTable, writeCsvRows, writeJsonRows } from '../output.ts'

type Simulation = Awaited<ReturnType<CoreService['host']['limits']['simulate']>>

/** Maximum number of rows in the terminal. */
const MAX_LINES = 1000

const APPROXIMATIONS = `A call is counted when it began, by what it took in the end: a limit in tokens or money holds more while the call is
under way, and may refuse more. Calls that were refused then are not recorded. Roles and groups are those of today; calls
of people and tokens that were removed count for nobody's own limit. What was topped up is not counted.`

const simulateCommand = (context: CommandContext) =>
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
      return context.open(async ({ host }) =>
        printSimulation(context, await host.limits.simulate({ ...days, ...config }), csv),
      )
    },
  })

const names = [
  'limit',
  'mode',
  'subject',
  'subjectId',
  'username',
  'from',
  'unit',
  'currency',
  'cap',
  'calls',
  'refused',
  'refusedAmount',
  'used',
]

async function printSimulation(
  context: CommandContext,
  { refusals, totals, leftOut, ofNobody }: Simulation,
  csv = false,
): Promise<void> {
  if (csv) return context.write(writeCsvRows(refusals, names))
  if (context.isJson) return context.write(writeJsonRows(refusals))
  const rows: Refusals[] = []
  let count = 0
  for await (const batch of refusals) {
    count += batch.length
    rows.push(...batch.slice(0, MAX_LINES - rows.length))
  }
  const text = [
    formatTable(
      rows.map((row) => formatMoneyMembers(row, ['cap', 'refusedAmount', 'used'])),
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

export const limitsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'The limits of calls of models, and what is used of them' },
    subCommands: {
      list: listCommand(context),
      show: showCommand(context),
      set: setCommand(context),
      remove: removeCommand(context),
      'top-up': topUpCommand(context),
      simulate: simulateCommand(context),
    },
  })

type States = Awaited<ReturnType<CoreService['host']['limits']['list']>>

const formatStates = (record: States, none: string) =>
  formatTable(
    record.map((state) => formatMoneyMembers(state, ['cap', 'baseCap', 'unpricedCost', 'used', 'held', 'remaining'])),
    none,
  )

const name = { type: 'positional', description: 'Name of the limit', required: true } as const

const listCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the limits with all who were counted in the running period' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.limits.list())
      context.print({ record, text: formatStates(record, 'There are no limits.') })
    },
  })

const showCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Show one limit with all who were counted in the running period' },
    args: { name, json },
    async run({ args: { name } }) {
      const record = await context.open(({ host }) => host.limits.show({ name }))
      context.print({ record, text: formatStates(record, '') })
    },
  })

const setCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Make a limit, or change one; what is used of it stays' },
    args: {
      name,
      for: {
        type: 'string',
        description: 'installation, or each or one of a kind: user, user:alice, app:NAME, room:SLUG, model:ID',
        required: true,
      },
      cap: { type: 'string', description: 'How much, in the unit', required: true },
      unit: { type: 'string', description: 'requests, tokens or a currency such as EUR', required: true },
      per: { type: 'string', description: 'minute, hour, day, week or month', required: true },
      'time-zone': {
        type: 'string',
        description: 'In which days, weeks and months begin, as Europe/Berlin; UTC when absent',
      },
      mode: { type: 'string', description: 'enforce, or observe to refuse nothing and count what would have been' },
      unpriced: { type: 'string', description: 'What a call without a known price counts, in the currency' },
      json,
    },
    async run({ args }) {
      const { name, for: subject, unit, per, mode } = args
      const amounts = await context.prompts.readAll({
        cap: () => parseFlag(typedNumber, args.cap, '--cap'),
        unpriced: () => parseOptionalFlag('unpriced', typedNumber, args.unpriced, '--unpriced'),
      })
      const zone = args['time-zone'] !== undefined && { timeZone: args['time-zone'] }
      const entry = {
        name,
        for: subject,
        unit,
        per,
        cap: amounts.cap,
        ...amounts.unpriced,
        ...zone,
        ...(mode !== undefined && { mode }),
      }
      const record = await context.open(({ host }) => host.limits.set(entry as z.input<typeof limitEntry>))
      context.print({ record, text: `The limit '${record.name}' is set.` })
    },
  })

const removeCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Remove a limit, and what was counted by it' },
    args: { name, json },
    async run({ args: { name } }) {
      const record = await context.open(({ host }) => host.limits.remove({ name }))
      context.print({ record, text: `The limit '${record.name}' is removed.` })
    },
  })

const topUpCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Give more of a limit for the period that runs' },
    args: {
      name,
      amount: { type: 'string', description: 'How much more, in the unit of the limit', required: true },
      id: { type: 'string', description: 'Who of a kind gets it, by id or name, as the list shows them' },
      json,
    },
    async run({ args: { name, amount, id } }) {
      const more = { name, amount: parseFlag(typedNumber, amount, '--amount'), ...(id !== undefined && { id }) }
      const record = await context.open(({ host }) => host.limits.topUp(more))
      context.print({
        record,
        text: `The limit '${record.name}' has ${formatAmount(record.toppedUp, record)} more in this period.`,
      })
    },
  })
