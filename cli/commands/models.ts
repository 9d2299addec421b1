import { defineCommand } from 'citty'
import type { CoreService } from '../../server/core.ts'
import { type CommandContext, json } from '../command-context.ts'
import { groupList } from '../flag-values.ts'
import { formatTable, wrapText } from '../output.ts'

export const modelsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Manage the AI models of this installation.' },
    subCommands: {
      list: listModelsCommand(context),
      sync: syncModelsCommand(context),
      check: checkModelsCommand(context),
      import: importModelsCommand(context),
      groups: setGroupsCommand(context),
      explain: explainCommand(context),
    },
  })

export const listModelsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the models.' },
    args: {
      provider: { type: 'string', description: 'Show only the models of a provider, by its id.' },
      active: { type: 'boolean', description: 'Show only the models that are enabled.' },
      json,
    },
    async run({ args: { provider, active } }) {
      const all = await context.open(({ host }) => host.models.list())
      const isSelected = (model: (typeof all)[number]) =>
        (provider === undefined || model.provider === provider) && (!active || model.active)
      const record = all.filter(isSelected)
      context.print({
        record,
        text: formatTable(record.map(toRow), 'There are no models. `svc models sync` reads them from AI_CONFIG.'),
      })
    },
  })

const toRow = ({
  groups,
  providerGroups,
  ...model
}: Awaited<ReturnType<CoreService['host']['models']['list']>>[number]) => ({
  ...model,
  groups: [groups, providerGroups]
    .filter((some) => some.length > 0)
    .map((some) => some.join(', '))
    .join(' and '),
})

export const syncModelsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Update providers and models to those in AI_CONFIG.' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.models.sync())
      const { providers, models, tools, deactivated } = record
      const off = deactivated.length > 0 ? ` Switched off: ${deactivated.join(', ')}.` : ''
      context.print({ record, text: `Providers: ${providers}, models: ${models}, tools: ${tools}.${off}` })
    },
  })

export const checkModelsCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description: 'Read the current models of every provider, and list names in files that match nothing.',
    },
    args: { json },
    async run() {
      const { record, unresolved } = await context.open(async ({ host }) => ({
        record: await host.models.check(),
        unresolved: [...(await host.models.unresolved()), ...(await host.limits.unresolved())],
      }))
      if (unresolved.length > 0)
        context.prompts.show(
          unresolved.map(({ by, kind, name }) => `${by} names the ${kind} ${name}, which is not here.`).join('\n'),
        )
      context.print({ record, text: formatTable(record, 'There are no models that are switched on.') })
    },
  })

const setGroupsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Set the groups that may use a model, or the models of a provider.' },
    args: {
      name: { type: 'positional', description: 'The id of the model.', required: true },
      provider: { type: 'boolean', description: 'The name is that of a provider.' },
      groups: { type: 'string', description: 'All groups, separated by commas; everybody if empty.', required: true },
      json,
    },
    async run({ args: { name, provider, groups: list } }) {
      const groups = groupList.parse(list)
      const of = provider ? { provider: name } : { model: name }
      const record = await context.open(({ host }) => host.models.setGroups({ ...of, groups }))
      const who = record.groups.length > 0 ? `People in ${record.groups.join(', ')}` : 'Everybody'
      context.print({ record, text: `${who} may use ${provider ? `the models of ${name}` : name}.` })
    },
  })

const explainCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Explain why a user can or cannot ask a model, in the browser and with a token.' },
    args: {
      user: { type: 'positional', description: 'The username of the user.', required: true },
      model: { type: 'positional', description: 'The id of the model.', required: true },
      json,
    },
    async run({ args: { user: username, model } }) {
      const record = await context.open(({ host }) => host.models.explain({ user: { username }, model }))
      const { browser, token } = record
      const describe = (way: string, { canAsk, reasons }: typeof browser) => [
        `${record.user.username} ${canAsk ? 'can' : 'cannot'} ask ${model} ${way}.`,
        ...reasons.map(({ sentence }) => wrapText('  ', sentence)),
      ]
      const lines = [...describe('in the browser', browser), ...describe('with a token', token)]
      context.print({ record, text: lines.join('\n') })
    },
  })

const importModelsCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description: "Add the models of a provider's own list, disabled, and limits and prices that others lack.",
    },
    args: {
      provider: { type: 'positional', description: 'The id of the provider in AI_CONFIG.', required: true },
      'dry-run': { type: 'boolean', description: 'Show the changes without writing them.' },
      yes: { type: 'boolean', description: 'Write without asking for confirmation.' },
      json,
    },
    async run({ args }) {
      const { provider } = args
      const dryRun = Boolean(args['dry-run'])
      if (!dryRun && !args.yes) await confirmImport(context, provider)
      const record = await context.open(({ host }) => host.models.import({ provider, dryRun }))
      context.print({
        record,
        text: formatTable(record, 'All models of the list are known, with all that it says of them.'),
      })
    },
  })

async function confirmImport({ prompts, open }: CommandContext, provider: string): Promise<void> {
  prompts.requireTerminal('--yes')
  const plan = await open(({ host }) => host.models.import({ provider, dryRun: true }))
  if (plan.length === 0) return
  prompts.show(formatTable(plan, ''))
  await prompts.requireConsent('--yes', `Write these ${plan.length} models of ${provider}?`)
}
