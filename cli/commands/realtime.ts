import { defineCommand } from 'citty'
import { type CommandContext, json } from '../command-context.ts'
import { formatTable } from '../output.ts'

export const realtimeCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Show the real-time connections of each replica, and the delay of changes.' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.realtime.replicas())
      const none = 'No replica answered. They are asked over Redis: without REDIS_URL look at GET /health.'
      context.print({ record, text: formatTable(record, none) })
    },
  })
