import { defineCommand } from 'citty'
import { json, type Session } from '../command-context.ts'
import { properties, table } from '../table.ts'
import { chooseUser, whoFlags } from '../user-flags.ts'

export const users = (session: Session) =>
  defineCommand({
    meta: { description: 'List the users, or show one' },
    ...listing(session),
    subCommands: { list: list(session), show: show(session) },
  })

const listing = (session: Session) => ({
  args: {
    search: { type: 'string', description: 'Only whose username, name or e-mail address holds this' },
    json,
  } as const,
  async run({ args: { search } }: { args: { search?: string | undefined } }) {
    const record = await session.open(({ host }) => host.users.search(search === undefined ? {} : { text: search }))
    session.tell({ record, words: table(record, 'There is no such user.') })
  },
})

const list = (session: Session) => defineCommand({ meta: { description: 'List the users' }, ...listing(session) })

const show = (session: Session) =>
  defineCommand({
    meta: { description: 'Show a user: role, keys, account and tokens' },
    args: { ...whoFlags, json },
    async run({ args }) {
      const user = await chooseUser(session, args)
      const record = await session.open(({ host }) => host.users.show({ user }))
      session.tell({ record, words: properties(record) })
    },
  })
