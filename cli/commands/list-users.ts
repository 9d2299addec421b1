import { defineCommand } from 'citty'
import { type CommandContext, json } from '../command-context.ts'
import { properties, table } from '../table.ts'
import { chooseUser, userFlags } from '../user-flags.ts'

export const users = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the users, or show one' },
    ...listing(context),
    subCommands: { list: list(context), show: show(context) },
  })

const listing = (context: CommandContext) => ({
  args: {
    search: { type: 'string', description: 'Only whose username, name or e-mail address holds this' },
    json,
  } as const,
  async run({ args: { search } }: { args: { search?: string | undefined } }) {
    const record = await context.open(({ host }) => host.users.search(search === undefined ? {} : { text: search }))
    context.print({ record, text: table(record, 'There is no such user.') })
  },
})

const list = (context: CommandContext) =>
  defineCommand({ meta: { description: 'List the users' }, ...listing(context) })

const show = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Show a user: role, keys, account, tokens, and whom a sign-in must be' },
    args: { ...userFlags, json },
    async run({ args }) {
      const user = await chooseUser(context, args)
      const record = await context.open(({ host }) => host.users.show({ user }))
      context.print({ record, text: properties(record) })
    },
  })
