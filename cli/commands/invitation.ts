import { defineCommand } from 'citty'
import { z } from 'zod'
import { roles } from '../../entities/identity/user.ts'
import { email, personName, username } from '../../routers/ports/login.ts'
import { type CommandContext, json } from '../command-context.ts'
import { parseOptionalFlag } from '../flag-values.ts'
import { formatTable } from '../output.ts'

/** Manages links with which people set the password of their local account themselves. */
export const invitationCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Invite people to local accounts, by links with which they set their password' },
    subCommands: {
      create: create(context),
      renew: renew(context),
      list: list(context),
      end: end(context),
    },
  })

interface InvitationLink {
  username: string
  link: string
  expiresAt: string
}

const writeLink = ({ username, link, expiresAt }: InvitationLink) =>
  `Send this link to ${username}. It works once, until ${expiresAt}, and is not shown again:\n${link}`

const create = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Add a user, and print a link with which they set their password' },
    args: {
      username: { type: 'string', description: 'Name to sign in with' },
      email: { type: 'string', description: 'E-mail address' },
      name: { type: 'string', description: 'Name that others see' },
      role: { type: 'string', description: `The role: ${roles.join(' or ')}; user when absent` },
      json,
    },
    async run({ args }) {
      const { prompts } = context
      const { role, ...names } = await prompts.readAll({
        username: () =>
          prompts.askText({ flag: '--username', value: args.username, message: 'Username', schema: username }),
        email: () => prompts.askText({ flag: '--email', value: args.email, message: 'Email address', schema: email }),
        name: () => prompts.askText({ flag: '--name', value: args.name, message: 'Display name', schema: personName }),
        role: () => parseOptionalFlag('role', z.enum(roles), args.role, '--role'),
      })
      const record = await context.open(({ host }) => host.accountInvitations.create({ ...names, ...role }))
      context.print({ record, text: writeLink(record) })
    },
  })

const user = { type: 'positional', description: 'Their username', required: true } as const

const renew = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Print another link for a user without an account; the one before ends' },
    args: { user, json },
    async run({ args: { user: username } }) {
      const record = await context.open(({ host }) => host.accountInvitations.create({ user: { username } }))
      context.print({ record, text: writeLink(record) })
    },
  })

const list = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the invitations that still work' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.accountInvitations.list())
      context.print({ record, text: formatTable(record, 'There are no invitations.') })
    },
  })

const end = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'End the invitation of a user' },
    args: { user, json },
    async run({ args: { user: username } }) {
      const record = await context.open(({ host }) => host.accountInvitations.end({ user: { username } }))
      context.print({ record, text: `The invitation of ${record.username} has ended.` })
    },
  })
