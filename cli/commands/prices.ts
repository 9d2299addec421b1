import { defineCommand } from 'citty'
import { priceList } from '../../routers/ports/ai/price-list.ts'
import { readConfigFile } from '../../server/config/config-file.ts'
import { type CommandContext, json } from '../command-context.ts'
import { parseFlag, typedNumber } from '../flag-values.ts'
import { formatTable } from '../output.ts'

export const pricesCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Manage the prices of the models.' },
    subCommands: { import: importListCommand(context), check: checkCommand(context) },
  })

const importListCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Set the prices of models from a list. Earlier calls keep their cost.' },
    args: {
      file: { type: 'positional', description: 'The price list, YAML or JSON.', required: true },
      json,
    },
    async run({ args: { file } }) {
      const list = await readConfigFile(file, priceList, {})
      const record = await context.open(({ host }) => host.prices.import(list))
      const { prices, changed, unknown } = record
      const missing = unknown.length > 0 ? ` There are no models named ${unknown.join(', ')}.` : ''
      context.print({ record, text: `Prices in the list: ${prices}, changed: ${changed.length}.${missing}` })
    },
  })

const checkCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description: 'List the enabled models without a price, without one for web search, or with an outdated one.',
    },
    args: {
      days: { type: 'string', description: 'The age in days from which a price list is outdated; 90 if absent.' },
      json,
    },
    async run({ args: { days } }) {
      const age = days === undefined ? {} : { days: parseFlag(typedNumber, days, '--days') }
      const record = await context.open(({ host }) => host.prices.check(age))
      context.print({ record, text: formatTable(record, 'All models that are switched on have a price.') })
    },
  })
