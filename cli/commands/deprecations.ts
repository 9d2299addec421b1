import { defineCommand } from 'citty'
import { type CommandContext, json } from '../command-context.ts'
import { formatTable } from '../output.ts'

/** Maximum number of rows in the terminal. */
const MAX_LINES = 1000
const MAX_RECORDS = 100_000

export const deprecationsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Show the callers of deprecated routes, with their tokens, counts and last calls.' },
    args: { json },
    async run() {
      const limit = context.isJson ? MAX_RECORDS : MAX_LINES
      const record = await context.open(({ host }) => host.deprecations.callers({ limit }))
      context.print({ record, text: formatTable(record, 'Nobody has called a deprecated route.') })
    },
  })
