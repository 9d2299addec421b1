import { defineCommand } from 'citty'
import { type CommandContext, json } from '../command-context.ts'
import { table } from '../table.ts'

export const usage = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Report the use of models, by user, model, context and outcome' },
    args: {
      from: { type: 'string', description: 'First day in UTC, as 2026-01-31; 30 days ago when absent' },
      to: { type: 'string', description: 'Last day in UTC; today when absent' },
      json,
    },
    async run({ args: { from, to } }) {
      const period = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
      const record = await context.open(({ host }) => host.usage.report(period))
      context.print({ record, text: table(record, 'No model was used in this time.') })
    },
  })
