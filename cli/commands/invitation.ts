import { defineCommand } from 'citty'
import { type CommandContext, json } from '../command-context.ts'
import { formatTable } from '../output.ts'
import { askNewUser, newUserFlags } from '../user-flags.ts'

/** Manages links with which people set the password of their local account themselves. */
export const invitationCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Invite people to local accounts, by links with which they set their password.' },
    subCommands: {
      create: createCommand(context),
      renew: renewCommand(context),
      list: listCommand(context),
      end: endCommand(context),
    },
  })

interface InvitationLink {
  username: string
  link: string
  expiresAt: string
}

const writeLink = ({ username, link, expiresAt }: InvitationLink) =>
  `Send this link to ${username}. It works once, until ${expiresAt}, and is not shown again:\n${link}`

const createCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Add a user, and print a link with which they set their password.' },
    args: {
      ...newUserFlags,
      json,
    },
    async run({ args }) {
      const person = await askNewUser(context, args)
      const record = await context.open(({ host }) => host.accountInvitations.create(person))
      context.print({ record, text: writeLink(record) })
    },
  })

const user = { type: 'positional', description: 'The username of the new user.', required: true } as const

const renewCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Print another link for a user without an account. The earlier link ends.' },
    args: { user, json },
    async run({ args: { user: username } }) {
      const record = await context.open(({ host }) => host.accountInvitations.create({ user: { username } }))
      context.print({ record, text: writeLink(record) })
    },
  })

const listCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the invitations that still work.' },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.accountInvitations.list())
      context.print({ record, text: formatTable(record, 'There are no invitations.') })
    },
  })

const endCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'End the invitation of a user.' },
    args: { user, json },
    async run({ args: { user: username } }) {
      const record = await context.open(({ host }) => host.accountInvitations.end({ user: { username } }))
      context.print({ record, text: `The invitation of ${record.username} has ended.` })
    },
  })
