import { defineCommand } from 'citty'
import { z } from 'zod'
import { roles } from '../entities/user.ts'
import { personName } from '../routers/admin.ts'
import { newPassword } from '../routers/password.ts'
import { email, type UserChoice, username } from '../routers/user-choice.ts'
import { UsageError } from './refusals.ts'
import { json, type Session } from './session.ts'
import { table } from './table.ts'
import { chooseUser, whoFlags } from './who.ts'

export const addUser = (session: Session) =>
  defineCommand({
    meta: { description: 'Add a user' },
    args: {
      username: { type: 'string', description: 'Name to sign in with' },
      email: { type: 'string', description: 'E-mail address' },
      name: { type: 'string', description: 'Name that others see' },
      'password-stdin': { type: 'boolean', description: 'Read a password from standard input, for the local accounts' },
      json,
    },
    async run({ args }) {
      const { ask } = session
      const person = {
        username: await ask.text({ flag: '--username', given: args.username, message: 'Username', schema: username }),
        email: await ask.text({ flag: '--email', given: args.email, message: 'Email address', schema: email }),
        name: await ask.text({ flag: '--name', given: args.name, message: 'Display name', schema: personName }),
      }
      const password = args['password-stdin'] ? await readPassword(session) : undefined
      const record = await session.open(({ host }) =>
        host.admin.addUser({ ...person, ...(password !== undefined && { password }) }),
      )
      session.tell({ record, words: `User ${record.username} is added, with the id ${record.id}.` })
    },
  })

async function readPassword({ piped }: Session): Promise<string> {
  const { data, success } = newPassword.safeParse(await piped())
  if (!success) throw new UsageError('--password-stdin: a password has 8 to 1024 characters.')
  return data
}

export const setRole = (session: Session) =>
  defineCommand({
    meta: { description: 'Make a user an administrator, or an ordinary user again' },
    args: { ...whoFlags, role: { type: 'string', description: `The role: ${roles.join(' or ')}` }, json },
    async run({ args }) {
      const user = await chooseUser(session, args)
      const role = await session.ask.choice({
        flag: '--role',
        given: args.role,
        message: 'Choose the role',
        schema: z.enum(roles),
        options: roles.map((value) => ({ value, label: value })),
      })
      const record = await session.open(({ host }) => host.admin.setRole({ user, role }))
      session.tell({ record, words: `User ${record.username} has the role ${record.role}.` })
    },
  })

export const removeUser = (session: Session) =>
  defineCommand({
    meta: { description: 'Remove a user with everything they own; usage records stay without the person' },
    args: { ...whoFlags, yes: { type: 'boolean', description: 'Remove without asking' }, json },
    async run({ args }) {
      const user = await chooseUser(session, args)
      if (!args.yes) await consent(session, user)
      const record = await session.open(({ host }) => host.admin.removeUser({ user }))
      const rows = Object.entries(record.report).map(([name, counts]) => ({ table: name, ...counts }))
      session.tell({ record, words: `User ${record.username} is removed.\n\n${table(rows, '')}` })
    },
  })

async function consent({ ask, open }: Session, user: UserChoice): Promise<void> {
  ask.expect('--yes')
  const { id, username, name } = await open(({ host }) => host.users.find({ user }))
  await ask.consent('--yes', `Remove ${username} (${name}, id ${id}) and everything they own?`)
}
