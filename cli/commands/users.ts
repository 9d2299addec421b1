import { defineCommand } from 'citty'
import { z } from 'zod'
import { roles } from '../../entities/identity/user.ts'
import type { UserChoice } from '../../routers/identity/user-selector.ts'
import { email, personName, username } from '../../routers/ports/login.ts'
import { readEnv } from '../../server/config/env.ts'
import { usesLocalAccounts } from '../../server/config/login-settings.ts'
import { json, type Session } from '../command-context.ts'
import { passwordStdin, readPassword } from '../password.ts'
import { read } from '../prompts.ts'
import { table } from '../table.ts'
import { chooseKnownUser, chooseUser, whoFlags } from '../user-flags.ts'

export const addUser = (session: Session) =>
  defineCommand({
    meta: { description: 'Add a user' },
    args: {
      username: { type: 'string', description: 'Name to sign in with' },
      email: { type: 'string', description: 'E-mail address' },
      name: { type: 'string', description: 'Name that others see' },
      role: { type: 'string', description: `The role: ${roles.join(' or ')}; user when absent` },
      ...passwordStdin,
      json,
    },
    async run({ args }) {
      const { ask } = session
      const person = {
        username: await ask.text({ flag: '--username', given: args.username, message: 'Username', schema: username }),
        email: await ask.text({ flag: '--email', given: args.email, message: 'Email address', schema: email }),
        name: await ask.text({ flag: '--name', given: args.name, message: 'Display name', schema: personName }),
        ...(args.role !== undefined && { role: read(z.enum(roles), args.role, '--role') }),
      }
      const password = args['password-stdin'] ? await readPassword(session) : await offerPassword(session)
      const record = await session.open(({ host }) =>
        host.admin.addUser({ ...person, ...(password !== '' && { password }) }),
      )
      session.tell({ record, words: `User ${record.username} is added, with the id ${record.id}.` })
    },
  })

/** Asks for a password where somebody could sign in with it and is there to type it; they may type none. */
async function offerPassword(session: Session): Promise<string> {
  if (!session.ask.interactive || !usesLocalAccounts(readEnv(session.env))) return ''
  return readPassword(session, { optional: true })
}

export const setPassword = (session: Session) =>
  defineCommand({
    meta: { description: 'Give a user a new password for the local accounts; their sessions end' },
    args: { ...whoFlags, ...passwordStdin, json },
    async run({ args }) {
      const user = await chooseKnownUser(
        session,
        args,
        args['password-stdin'] && !session.ask.interactive ? [] : ['--password-stdin'],
      )
      const password = await readPassword(session)
      const record = await session.open(({ host }) => host.password.set({ user, password }))
      session.tell({ record, words: `User ${record.username} has a new password and is signed out everywhere.` })
    },
  })

export const setRole = (session: Session) =>
  defineCommand({
    meta: { description: 'Make a user an administrator, or an ordinary user again' },
    args: { ...whoFlags, role: { type: 'string', description: `The role: ${roles.join(' or ')}` }, json },
    async run({ args }) {
      const user = await chooseKnownUser(session, args, args.role === undefined ? ['--role'] : [])
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
