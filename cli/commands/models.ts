import { defineCommand } from 'citty'
import { type CommandContext, json } from '../command-context.ts'
import { table } from '../table.ts'

export const models = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'The AI models of this installation' },
    subCommands: { list: listModels(context), sync: syncModels(context), check: checkModels(context) },
  })

export const listModels = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the models' },
    args: {
      provider: { type: 'string', description: 'Those of a provider alone, by its id' },
      active: { type: 'boolean', description: 'Those alone that are switched on' },
      json,
    },
    async run({ args: { provider, active } }) {
      const all = await context.open(({ host }) => host.models.list())
      const isMeant = (model: (typeof all)[number]) =>
        (provider === undefined || model.provider === provider) && (!active || model.active)
      const record = all.filter(isMeant)
      context.print({
        record,
        text: table(record, 'There are no models. `svc models sync` reads them from AI_CONFIG.'),
      })
    },
  })

export const syncModels = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Bring providers and models to what AI_CONFIG says' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.models.sync())
      const { providers, models, tools, deactivated } = record
      const off = deactivated.length > 0 ? ` Switched off: ${deactivated.join(', ')}.` : ''
      context.print({ record, text: `Providers: ${providers}, models: ${models}, tools: ${tools}.${off}` })
    },
  })

export const checkModels = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Ask every provider which models it offers now' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.models.check())
      context.print({ record, text: table(record, 'There are no models that are switched on.') })
    },
  })
