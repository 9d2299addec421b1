import { defineCommand } from 'citty'
import type { z } from 'zod'
import type { Refusals } from '../../routers/ai/limits/limit-simulation.ts'
import { Problem } from '../../routers/core/problems.ts'
import { formatAmount, formatCap, formatMicros } from '../../routers/ports/ai/amounts.ts'
import { limitEntry, limitsConfig } from '../../routers/ports/ai/limits-config.ts'
import { day } from '../../routers/ports/days.ts'
import { readConfigFile } from '../../server/config/config-file.ts'
import { readEnv } from '../../server/config/env.ts'
import type { CoreService } from '../../server/core.ts'
import { type CommandContext, json } from '../command-context.ts'
import { UsageError, writeIssues } from '../errors.ts'
import { parseFlag, parseOptionalFlag, typedNumber } from '../flag-values.ts'
import { formatProperties, formatTable, writeCsvRows, writeJsonRows } from '../output.ts'

type Simulation = Awaited<ReturnType<CoreService['host']['limits']['simulate']>>

/** Maximum number of rows in the terminal. */
const MAX_LINES = 1000

const APPROXIMATIONS = `A call is counted when it began, by what it took in the end: a limit in tokens or money holds more while the call is
under way, and may refuse more. Calls that were refused then are not recorded. Roles and groups are those of today; calls
of people and tokens that were removed count for nobody's own limit. What was topped up is not counted. Limits of calls of tools are left out.`

const simulateCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Show which recorded calls some limits would have refused. The command changes nothing.' },
    args: {
      file: {
        type: 'string',
        description: 'The file of limits in the format of LIMITS, YAML or JSON; the current limits if absent.',
      },
      from: { type: 'string', description: 'The first day in UTC, such as 2026-01-31; 30 days ago if absent.' },
      to: { type: 'string', description: 'The last day in UTC; today if absent.' },
      csv: { type: 'boolean', description: 'Print comma-separated values.' },
      json,
    },
    async run({ args: { file, from, to, csv } }) {
      const days = await context.prompts.readAll({
        from: () => parseOptionalFlag('from', day, from, '--from'),
        to: () => parseOptionalFlag('to', day, to, '--to'),
      })
      const config = file !== undefined && {
        config: await readConfigFile(file, limitsConfig, readEnv(context.env).variables),
      }
      return context.open(async ({ host }) =>
        printSimulation(context, await host.limits.simulate({ ...days.from, ...days.to, ...config }), csv),
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
    formatTable(rows.map(toRefusalRow), 'Nothing would have been refused.', {
      width: context.width,
      cuttable: ['limit', 'who'],
    }),
    ...(count > rows.length ? [`There are ${count - rows.length} more rows: --csv prints all of them.`] : []),
    `Calls: ${totals.calls}, of which limits that are enforced would have refused ${totals.refused}.`,
    ...(leftOut > 0 ? [`Left out: ${leftOut} calls that are kept as sums of a day only.`] : []),
    ...(ofNobody.length > 0 ? [`For people, apps or others that are not there yet: ${ofNobody.join(', ')}.`] : []),
    APPROXIMATIONS,
  ]
  return context.print({ record: rows, text: text.join('\n') })
}

const toRefusalRow = (row: Refusals) => ({
  limit: row.limit,
  who: [row.subject, row.username ?? row.subjectId].filter(Boolean).join(' '),
  from: row.from,
  calls: row.calls,
  refused: row.mode === 'observe' ? `${row.refused} (observed)` : row.refused,
  used: formatPlain(row, row.used),
  of: formatAmount(row.cap, row),
})

export const limitsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Manage the usage limits of calls of models and tools, and show their use.' },
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

type State = States[number]

/** Formats an amount without its unit. */
const formatPlain = ({ unit }: Pick<State, 'unit'>, amount: number) =>
  unit === 'money' ? formatMicros(amount) : `${amount}`

/** Whom a limit is for; for each of a kind, the one that was counted. */
const formatTarget = ({ target, ownId, subjectName, subjectId }: State) =>
  ownId === null && subjectId !== '' ? `${target} (${subjectName ?? subjectId})` : target

const formatMode = ({ active, mode }: State) => (active ? mode : 'off')

/** The columns of the list and of one limit alone. */
const toAmounts = (state: State) => ({
  used: formatPlain(state, state.used),
  held: formatPlain(state, state.held),
  left: formatPlain(state, state.remaining),
})

/** Formats the limits; columns in which nothing deviates are left out. */
function formatList(states: States, width: number): string {
  const hasModes = states.some((state) => formatMode(state) !== 'enforce')
  const hasHeld = states.some(({ held }) => held > 0)
  const rows = states.map((state) => {
    const { held, ...amounts } = toAmounts(state)
    return {
      name: state.name,
      for: formatTarget(state),
      cap: formatCap(state.cap, state),
      ...amounts,
      ...(hasHeld && { held }),
      resets: state.resetsAt,
      ...(hasModes && { mode: formatMode(state) }),
    }
  })
  return formatTable(rows, 'There are no limits.', { width, cuttable: ['name', 'for'], cuttableLast: ['cap'] })
}

/** Formats one limit with all who were counted. */
function formatOne(states: States, width: number): string {
  const [first] = states
  if (!first) return ''
  const { name, target, unpricedCost, resetsAt, countsFrom, timeZone, fromFile } = first
  const properties = {
    for: target,
    cap: formatCap(first.baseCap, first),
    mode: formatMode(first),
    ...(unpricedCost !== null && { unpriced: formatAmount(unpricedCost, first) }),
    resets: resetsAt,
    'time zone': timeZone,
    ...(countsFrom !== null && { 'counts from': countsFrom }),
    'from the file': fromFile,
  }
  const rows = states.map((state) => ({
    who: (state.subjectName ?? state.subjectId) || state.target,
    cap: formatAmount(state.cap, state),
    ...toAmounts(state),
    refused: state.refused,
  }))
  return `${name}\n\n${formatProperties(properties)}\n\n${formatTable(rows, '', { width, cuttable: ['who'] })}`
}

const name = { type: 'positional', description: 'The name of the limit.', required: true } as const

const listCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the limits with everybody who was counted in the current period.' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.limits.list())
      context.print({ record, text: formatList(record, context.width) })
    },
  })

const showCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Show one limit with everybody who was counted in the current period.' },
    args: { name, json },
    async run({ args: { name } }) {
      const record = await context.open(({ host }) => host.limits.show({ name }))
      context.print({ record, text: formatOne(record, context.width) })
    },
  })

const setCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Create a limit, or change one. Its recorded use stays.' },
    args: {
      name,
      for: {
        type: 'string',
        description:
          'The subject of the limit: installation, or each or one of a kind: user, user:alice, app:NAME, room:SLUG, model:ID, tool-server:LABEL, tool:NAME.',
        required: true,
      },
      cap: { type: 'string', description: 'The amount, in the unit.', required: true },
      unit: {
        type: 'string',
        description: 'The unit: requests, tokens, calls (of tools) or a currency such as EUR.',
        required: true,
      },
      per: { type: 'string', description: 'The period: minute, hour, day, week or month.', required: true },
      'time-zone': {
        type: 'string',
        description: 'The time zone in which days, weeks and months begin, such as Europe/Berlin; UTC if absent.',
      },
      mode: {
        type: 'string',
        description: 'The mode: enforce, or observe, which refuses nothing and counts what would have been refused.',
      },
      unpriced: {
        type: 'string',
        description: 'The amount that a call without a known price counts, in the currency.',
      },
      'count-from': {
        type: 'string',
        description: 'Pass now to begin at 0. If absent, the recorded calls of the current period count.',
      },
      yes: { type: 'boolean', description: 'Accept a person or group that does not exist yet.' },
      json,
    },
    async run({ args }) {
      const entry = await readEntry(context, args)
      const set = (confirm: boolean) => context.open(({ host }) => host.limits.set({ ...entry, confirm }))
      const record = await set(args.yes === true).catch(async (error: unknown) => {
        if (!(error instanceof Problem) || error.problem !== 'confirmation_needed') throw error
        if (!context.prompts.isInteractive) throw describeConfirmation(error)
        await context.prompts.requireConsent('--yes', `${error.message} Set the limit all the same?`)
        return set(true)
      })
      const [state] = record.begun ? await context.open(({ host }) => host.limits.show({ name: record.name })) : []
      context.print({ record, text: [`The limit '${record.name}' is set.`, ...describeBegun(record, state)].join(' ') })
    },
  })

const describeConfirmation = ({ message }: Problem) =>
  new Problem('confirmation_needed', {
    detail: `${message} --yes sets the limit all the same: it holds once a sign-in brings them.`,
  })

function describeBegun({ begun }: SetResult, state: State | undefined): string[] {
  if (!begun || !state) return []
  if (begun.countFrom === 'now') return [`It begins at 0: what is recorded of the running ${state.period} is left out.`]
  const by = state.ownId === null && state.subject !== 'installation' ? ` of ${begun.subjects}` : ''
  return [`It counts what is recorded of the running ${state.period}: ${formatAmount(begun.used, state)}${by}.`]
}

type SetResult = Awaited<ReturnType<CoreService['host']['limits']['set']>>

type SetFlags = Record<'name' | 'for' | 'cap' | 'unit' | 'per', string> &
  Record<'time-zone' | 'mode' | 'unpriced' | 'count-from', string | undefined>

/** Reads a limit; throws with all faults of the flags. */
async function readEntry({ prompts }: CommandContext, flags: SetFlags): Promise<z.output<typeof limitEntry>> {
  const { name, for: target, unit, per, mode } = flags
  const texts = { mode, timeZone: flags['time-zone'], countFrom: flags['count-from'], unpriced: flags.unpriced }
  const given = Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined))
  const { entry } = await prompts.readAll({
    cap: () => parseFlag(typedNumber, flags.cap, '--cap'),
    unpriced: () => parseOptionalFlag('unpriced', typedNumber, flags.unpriced, '--unpriced'),
    entry: () => parseEntry({ name, for: target, unit, per, ...given, cap: flags.cap }),
  })
  return entry
}

/** Parses a limit; an amount that is no number has a message of its own. */
function parseEntry(texts: Record<string, string>): z.output<typeof limitEntry> {
  const amounts = Object.entries(texts).filter(([name]) => name === 'cap' || name === 'unpriced')
  const numbers = amounts.map(([name, text]) => [name, typedNumber.safeParse(text)] as const)
  const wrong = numbers.flatMap(([name, { success }]) => (success ? [] : name))
  const values = Object.fromEntries(numbers.map(([name, { data }]) => [name, data]))
  const parsed = limitEntry.safeParse({ ...texts, ...values })
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.filter(({ path }) => !wrong.includes(String(path[0])))
  throw new UsageError(writeIssues({ issues }))
}

const removeCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Remove a limit and its counts.' },
    args: { name, json },
    async run({ args: { name } }) {
      const record = await context.open(({ host }) => host.limits.remove({ name }))
      context.print({ record, text: `The limit '${record.name}' is removed.` })
    },
  })

const topUpCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Raise a limit for the current period.' },
    args: {
      name,
      amount: { type: 'string', description: 'The additional amount, in the unit of the limit.', required: true },
      id: { type: 'string', description: 'The subject that gets it, by id or name, as in the list.' },
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
