import { defineCommand } from 'citty'
import { type CommandContext, json } from '../command-context.ts'
import { table } from '../table.ts'

export const models = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'The AI models of this installation' },
    subCommands: { list: list(context), sync: sync(context), check: check(context) },
  })

const list = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the models' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.models.list())
      context.print({
        record,
        text: table(record, 'There are no models. `svc models sync` reads them from AI_CONFIG.'),
      })
    },
  })

const sync = (context: CommandContext) =>
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

const check = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Ask every provider which models it offers now' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.models.check())
      context.print({ record, text: table(record, 'There are no models that are switched on.') })
    },
  })
