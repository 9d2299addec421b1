import { defineCommand } from 'citty'
import { type CommandContext, json } from '../command-context.ts'

export const restored = (context: CommandContext) =>
  defineCommand({
    meta: {
      description: 'Say that the database was restored from a copy of its disk: clients then read everything anew',
    },
    args: { json },
    async run() {
      await context.open(({ host }) => host.changeLog.restored())
      context.print({
        record: { restored: true },
        text: 'Positions in the change log from before are refused from now on.',
      })
    },
  })
