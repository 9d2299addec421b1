import { defineCommand } from 'citty'
import { z } from 'zod'
import { roles } from '../../entities/identity/user.ts'
import { type CommandContext, json } from '../command-context.ts'
import { optionalFlag } from '../prompts.ts'
import { properties, table } from '../table.ts'
import { typedNumber } from '../typed-number.ts'
import { chooseUser, userFlags } from '../user-flags.ts'

export const users = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the users, or show one' },
    ...listing(context),
    subCommands: { list: list(context), show: show(context) },
  })

interface ListFlags {
  search?: string | undefined
  role?: string | undefined
  page?: string | undefined
}

const pageNumber = z.int('must be a whole number').min(1, 'must be at least 1').max(1_000_000, 'is too large')

const listing = (context: CommandContext) => ({
  args: {
    search: { type: 'string', description: 'Only whose username, name or e-mail address holds this' },
    role: { type: 'string', description: `Only who has this role: ${roles.join(' or ')}` },
    page: { type: 'string', description: 'Which hundred of them; 1 when absent' },
    json,
  } as const,
  async run({ args: { search, role, page } }: { args: ListFlags }) {
    const given = await context.prompts.readAll({
      role: () => optionalFlag('role', z.enum(roles), role, '--role'),
      page: () => optionalFlag('page', typedNumber.pipe(pageNumber), page, '--page'),
    })
    const choice = { ...(search !== undefined && { text: search }), ...given.role, ...given.page }
    const { users: record, hasMore } = await context.open(({ host }) => host.users.search(choice))
    const more = hasMore ? `\n\nThere are more: --page ${(choice.page ?? 1) + 1} shows the next.` : ''
    context.print({ record, text: `${table(record, 'There is no such user.')}${more}` })
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
