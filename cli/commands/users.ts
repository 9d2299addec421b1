import { defineCommand } from 'citty'
import { z } from 'zod'
import { roles } from '../../entities/identity/user.ts'
import type { ErasureReport } from '../../routers/core/hooks.ts'
import { newPassword } from '../../routers/identity/password.ts'
import type { UserSelector } from '../../routers/identity/user-selector.ts'
import { subject, username } from '../../routers/ports/login.ts'
import { readEnv } from '../../server/config/env.ts'
import { usesLocalAccounts } from '../../server/config/settings/login.ts'
import { type CommandContext, json } from '../command-context.ts'
import { UsageError } from '../errors.ts'
import { groupList, parseOptionalFlag, typedNumber } from '../flag-values.ts'
import { formatProperties, formatTable } from '../output.ts'
import { askNewUser, chooseKnownUser, chooseUser, newUserFlags, userFlags } from '../user-flags.ts'

export const usersCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'List the users, or show one.' },
    ...createListing(context),
    subCommands: { list: listUsersCommand(context), show: showUserCommand(context) },
  })

interface ListFlags {
  search?: string | undefined
  role?: string | undefined
  page?: string | undefined
}

const pageNumber = z.int('must be a whole number').min(1, 'must be at least 1').max(1_000_000, 'is too large')

const createListing = (context: CommandContext) => ({
  args: {
    search: {
      type: 'string',
      description: 'Show only users whose username, name or e-mail address contains this text.',
    },
    role: { type: 'string', description: `Show only users with this role: ${roles.join(' or ')}.` },
    page: { type: 'string', description: 'The page of 100 users each; 1 if absent.' },
    json,
  } as const,
  async run({ args: { search, role, page } }: { args: ListFlags }) {
    const filters = await context.prompts.readAll({
      role: () => parseOptionalFlag('role', z.enum(roles), role, '--role'),
      page: () => parseOptionalFlag('page', typedNumber.pipe(pageNumber), page, '--page'),
    })
    const choice = { ...(search !== undefined && { text: search }), ...filters.role, ...filters.page }
    const { users: record, hasMore } = await context.open(({ host }) => host.users.search(choice))
    const more = hasMore ? `\n\nThere are more: --page ${(choice.page ?? 1) + 1} shows the next.` : ''
    context.print({ record, text: `${formatTable(record, 'There is no such user.')}${more}` })
  },
})

const listUsersCommand = (context: CommandContext) =>
  defineCommand({ meta: { description: 'List the users.' }, ...createListing(context) })

const showUserCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Show a user: role, keys, account, tokens, and the sign-in that they are bound to.' },
    args: { ...userFlags, json },
    async run({ args }) {
      const user = await chooseUser(context, args)
      const record = await context.open(({ host }) => host.users.show({ user }))
      context.print({ record, text: formatProperties(record) })
    },
  })

export const addUserCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Add a user.' },
    args: {
      ...newUserFlags,
      ...passwordStdin,
      json,
    },
    async run({ args }) {
      const person = await askNewUser(context, args)
      const password = args['password-stdin'] ? await readPassword(context) : await offerPassword(context)
      const record = await context.open(({ host }) =>
        host.admin.addUser({ ...person, ...(password !== '' && { password }) }),
      )
      context.print({ record, text: `User ${record.username} is added, with the id ${record.id}.` })
    },
  })

/** Asks for an optional password if local accounts are in use and somebody is at the terminal. */
async function offerPassword(context: CommandContext): Promise<string> {
  if (!context.prompts.isInteractive || !usesLocalAccounts(readEnv(context.env))) return ''
  return readPassword(context, { optional: true })
}

export const setPasswordCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Give a user a new password for the local accounts. Their sessions end.' },
    args: { ...userFlags, ...passwordStdin, json },
    async run({ args }) {
      const user = await chooseKnownUser(
        context,
        args,
        args['password-stdin'] && !context.prompts.isInteractive ? [] : ['--password-stdin'],
      )
      const password = await readPassword(context)
      const record = await context.open(({ host }) => host.password.set({ user, password }))
      context.print({ record, text: `User ${record.username} has a new password and is signed out everywhere.` })
    },
  })

/** The flag of commands that take a password. */
const passwordStdin = {
  'password-stdin': {
    type: 'boolean',
    description: 'Read the password from standard input; at a terminal ask for it.',
  },
} as const

/** Reads a new password: typed twice at a terminal, perhaps left empty if it is optional, or piped in. */
async function readPassword({ prompts, readStdin: piped }: CommandContext, { optional = false } = {}): Promise<string> {
  if (prompts.isInteractive && !optional) return prompts.askNewPassword('New password', newPassword)
  if (prompts.isInteractive)
    return prompts.askNewPassword(
      'Password; none for somebody who only uses tokens',
      z.union([newPassword, z.literal('')]),
    )
  const { data, error } = newPassword.safeParse(await piped())
  if (error) throw new UsageError(`--password-stdin: the password ${error.issues[0]?.message}.`)
  return data
}

export const setRoleCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Make a user an administrator, or an ordinary user again.' },
    args: { ...userFlags, role: { type: 'string', description: `The role: ${roles.join(' or ')}.` }, json },
    async run({ args }) {
      const { user, role } = await context.prompts.readAll({
        user: () => chooseKnownUser(context, args, args.role === undefined ? ['--role'] : []),
        role: () =>
          context.prompts.askChoice({
            flag: '--role',
            value: args.role,
            message: 'Choose the role',
            schema: z.enum(roles),
            options: roles.map((value) => ({ value, label: value })),
          }),
      })
      const record = await context.open(({ host }) => host.admin.setRole({ user, role }))
      context.print({ record, text: `User ${record.username} has the role ${record.role}.` })
    },
  })

export const setGroupsCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Set the groups of a user, for usage limits.' },
    args: {
      ...userFlags,
      groups: { type: 'string', description: 'All groups, separated by commas; none if empty.', required: true },
      json,
    },
    async run({ args }) {
      const user = await chooseKnownUser(context, args, [])
      const groups = groupList.parse(args.groups)
      const record = await context.open(({ host }) => host.admin.setGroups({ user, groups }))
      context.print({ record, text: `User ${record.username} is in ${record.groups.join(', ') || 'no group'}.` })
    },
  })

/** Tokens and keys are kept, and work again once the user is enabled. */
export const setUserDisabledCommand = (context: CommandContext, disabled: boolean) =>
  defineCommand({
    meta: {
      description: disabled
        ? 'Disable a user at once, with all their tokens. Their data stays.'
        : 'Enable a disabled user again, with their tokens.',
    },
    args: { ...userFlags, json },
    async run({ args }) {
      const user = await chooseUser(context, args)
      const record = await context.open(({ host }) => host.admin.setDisabled({ user, disabled }))
      context.print({ record, text: `User ${record.username} is ${disabled ? 'disabled' : 'enabled'}.` })
    },
  })

export const renameUserCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Give a user another username, for example if somebody else has theirs at the login source.' },
    args: { ...userFlags, to: { type: 'string', description: 'The new username.' }, json },
    async run({ args }) {
      const { user, to } = await context.prompts.readAll({
        user: () => chooseKnownUser(context, args, args.to === undefined ? ['--to'] : []),
        to: () => context.prompts.askText({ flag: '--to', value: args.to, message: 'New username', schema: username }),
      })
      const record = await context.open(({ host }) => host.admin.renameUser({ user, to }))
      context.print({ record, text: `The user with the id ${record.id} is called ${record.username}.` })
    },
  })

export const bindUserCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description:
        'Bind a user to another account of the login source, in place of the earlier one. Their sessions end.',
    },
    args: {
      ...userFlags,
      subject: {
        type: 'string',
        description:
          'The account at the login source: ldap:ENTRYUUID, "oidc:ISSUER SUB", proxy:VALUE or local:ID. If absent, it is the next that signs in with the username.',
      },
      json,
    },
    async run({ args }) {
      const { user, target } = await context.prompts.readAll({
        user: () => chooseUser(context, args),
        target: () => parseOptionalFlag('subject', subject, args.subject, '--subject'),
      })
      const record = await context.open(({ host }) => host.admin.bindUser({ user, ...target }))
      const to = record.subject ?? 'nobody; the next sign-in with the username binds them'
      context.print({ record, text: `User ${record.username} is bound to ${to}.` })
    },
  })

export const removeUserCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description:
        'Remove a user with everything they own. Their assistants go to their first editors. Usage records stay without the person.',
    },
    args: { ...userFlags, yes: { type: 'boolean', description: 'Remove without asking for confirmation.' }, json },
    async run({ args }) {
      const user = await chooseUser(context, args)
      if (!args.yes) await confirmRemoval(context, user)
      const record = await context.open(({ host }) => host.admin.removeUser({ user }))
      const text = `User ${record.username} is removed with everything they own.${describeInheritance(record)}`
      context.print({ record, text })
    },
  })

/** Says what became of assistants and their files, on which others may rely. */
function describeInheritance({ report }: { report: ErasureReport }): string {
  const { assistants, knowledge, knowledge_files: files } = report
  const counts = [
    [assistants?.deleted, 'Assistants deleted'],
    [assistants?.kept, 'Assistants given to their first editors'],
    [knowledge?.deleted, 'Knowledge deleted, also of assistants that others have now'],
    [files?.deleted, 'Files of knowledge deleted'],
  ] as const
  return counts.map(([count = 0, label]) => (count > 0 ? `\n${label}: ${count}.` : '')).join('')
}

async function confirmRemoval({ prompts, open }: CommandContext, user: UserSelector): Promise<void> {
  prompts.requireTerminal('--yes')
  const { id, username, name } = await open(({ host }) => host.users.find({ user }))
  await prompts.requireConsent('--yes', `Remove ${username} (${name}, id ${id}) and everything they own?`)
}
